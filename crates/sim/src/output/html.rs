//! A page with charts that needs nothing else: no script, no other file, light and dark.

use std::fmt::Write as _;

use super::chart::{Band, Chart, Line, Unit, escape};
use crate::measure::{HostsAt, Outcome, Sample, Series};
use crate::run::Run;

/// So many points of a line are drawn.
const POINTS: usize = 260;

/// Colours there are for policies.
const COLOURS: usize = 8;

/// The page.
#[must_use]
pub fn page(runs: &[Run]) -> String {
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\"><title>Plerion: balancing policies compared</title><style>{}</style></head><body>\
         <h1>Balancing policies compared</h1><p>Utilisation is the greatest use of a broker's resources by its true load, \
         which no policy sees. The gap is the greatest utilisation over what no placement could get below. J weighs \
         utilisation above that bound over time and what moving costs; the lower the better. In the charts of brokers the thick \
         line is the busiest one and the dashed line the lower bound.</p>",
        include_str!("style.css")
    );
    let of_one = |a: &Run, b: &Run| a.outcome.scenario == b.outcome.scenario && a.outcome.seed == b.outcome.seed;
    runs.chunk_by(of_one).for_each(|group| section(&mut html, group));
    html.push_str("</body></html>\n");
    html
}

fn section(html: &mut String, runs: &[Run]) {
    let Some(Run { outcome, about, .. }) = runs.first() else { return };
    let _ = write!(
        html,
        "<h2>{}</h2><p>{}{} brokers, {} bundles, {:.0} minutes, seed {}.</p>",
        escape(&outcome.scenario),
        if about.is_empty() { String::new() } else { format!("{} ", escape(about)) },
        outcome.brokers,
        outcome.bundles,
        outcome.simulated_s / 60.0,
        outcome.seed
    );
    table(html, runs);
    html.push_str("<div class=\"charts\">");
    let compared = |title: &str, unit: Unit, floor: f64, ceiling: f64, of: &dyn Fn(&Sample) -> f64| {
        let line = |(number, run): (usize, &Run)| Line {
            class: colour(number),
            label: run.outcome.policy.clone(),
            points: thinned(&run.series.samples).map(|sample| (sample.at, of(sample))).collect(),
        };
        // The first policy is drawn last, above the others.
        let lines = runs.iter().enumerate().rev().map(line).collect();
        Chart { title: title.to_owned(), unit, floor, ceiling, bands: Vec::new(), lines }.render()
    };
    let gap = |sample: &Sample| if sample.bound > 0.0 { sample.peak / sample.bound } else { 1.0 };
    html.push_str(&compared("Greatest utilisation over its lower bound", Unit::Ratio, 1.0, 3.0, &gap));
    html.push_str(&compared("Moves so far", Unit::Count, 0.0, f64::INFINITY, &|sample| f64::from(sample.moves)));
    for run in runs {
        html.push_str(&hosts(&run.outcome, &run.series).render());
    }
    html.push_str("</div>");
}

fn colour(number: usize) -> String {
    format!("c{}", number.min(COLOURS - 1))
}

fn table(html: &mut String, runs: &[Run]) {
    html.push_str(
        "<div class=\"card scroll\"><table><tr><th>policy</th><th>J</th><th>gap</th><th>max/mean</th><th>moves</th>\
         <th>greedy</th><th>load ratio</th><th>rounds</th><th>first move</th><th>converged</th><th>twice</th><th>splits</th>\
         <th>placed</th><th>cut off</th></tr>",
    );
    let best = |of: &dyn Fn(&Outcome) -> f64| runs.iter().map(|run| of(&run.outcome)).fold(f64::INFINITY, f64::min);
    let (best_j, best_gap) = (best(&|outcome| outcome.j), best(&|outcome| outcome.gap));
    let optional = |value: Option<f64>, digits: usize, unit: &str| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}{unit}"))
    };
    for (number, Run { outcome, .. }) in runs.iter().enumerate() {
        let class = |is_best: bool| if is_best { " class=\"best\"" } else { "" };
        let _ = write!(
            html,
            "<tr><td><span class=\"key\" style=\"background: var(--{})\"></span>{}{}</td><td{}>{:.5}</td><td{}>{:.3}</td>\
             <td>{:.3}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{:.1} ms</td></tr>",
            colour(number),
            escape(&outcome.policy),
            if outcome.complete { "" } else { " (cut short)" },
            class(outcome.j <= best_j),
            outcome.j,
            class(outcome.gap <= best_gap),
            outcome.gap,
            outcome.max_over_mean,
            outcome.moves,
            outcome.greedy_moves,
            optional(outcome.moved_load_ratio, 2, ""),
            outcome.rounds,
            optional(outcome.first_move_s, 0, " s"),
            optional(outcome.converged_s, 0, " s"),
            outcome.bundles_moved_twice,
            outcome.splits,
            outcome.placements,
            outcome.interruption_s * 1e3,
        );
    }
    html.push_str("</table></div>");
}

/// The load of each broker over time, or of all of them where there are many.
fn hosts(outcome: &Outcome, series: &Series) -> Chart {
    let chosen: Vec<(&Sample, &HostsAt)> = {
        let places = thinned_places(&series.samples);
        places.into_iter().filter_map(|place| Some((series.samples.get(place)?, series.hosts.get(place)?))).collect()
    };
    let mut lines = Vec::new();
    let count = chosen.iter().map(|(_, hosts)| if let HostsAt::Each(each) = hosts { each.len() } else { 0 }).max();
    for host in 0..count.unwrap_or(0) {
        let at = |hosts: &HostsAt| match hosts {
            HostsAt::Each(each) => each.get(host).copied().map_or(f64::NAN, f64::from),
            HostsAt::Quartiles(_) => f64::NAN,
        };
        let points = chosen.iter().map(|(sample, hosts)| (sample.at, at(hosts))).collect();
        lines.push(Line { class: "host".to_owned(), label: format!("broker {host}"), points });
    }
    let quartile = |which: usize| {
        chosen.iter().filter_map(move |(sample, hosts)| match hosts {
            HostsAt::Quartiles(at) => Some((sample.at, f64::from(at[which]))),
            HostsAt::Each(_) => None,
        })
    };
    let band = |class, low: usize, high: usize| Band {
        class,
        points: quartile(low).zip(quartile(high)).map(|((at, low), (_, high))| (at, low, high)).collect(),
    };
    let bands = vec![band("wide", 0, 4), band("narrow", 1, 3)];
    lines.push(Line { class: "median".to_owned(), label: "median broker".to_owned(), points: quartile(2).collect() });
    let of = |of: &dyn Fn(&Sample) -> f64| chosen.iter().map(|(sample, _)| (sample.at, of(sample))).collect();
    let peak = Line { class: "peak".to_owned(), label: "busiest broker".to_owned(), points: of(&|sample| sample.peak) };
    let bound = Line { class: "bound".to_owned(), label: "lower bound".to_owned(), points: of(&|sample| sample.bound) };
    lines.extend([peak, bound]);
    let title = format!("{}: utilisation of each broker", outcome.policy);
    Chart { title, unit: Unit::Percent, floor: 0.0, ceiling: 2.0, bands, lines }
}

fn thinned(samples: &[Sample]) -> impl Iterator<Item = &Sample> {
    thinned_places(samples).into_iter().map(|place| &samples[place])
}

/// As many places as are drawn, each with the highest peak of its neighbourhood.
fn thinned_places(samples: &[Sample]) -> Vec<usize> {
    let each = samples.len().div_ceil(POINTS).max(1);
    let peak = |place: &usize| samples[*place].peak;
    let starts = (0..samples.len()).step_by(each);
    starts
        .filter_map(|from| {
            (from..(from + each).min(samples.len())).max_by(|a: &usize, b: &usize| peak(a).total_cmp(&peak(b)))
        })
        .collect()
}
