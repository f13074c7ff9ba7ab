//! Charts as SVG.

use std::fmt::Write as _;

/// A line of a chart. Where a value is no number, the line is interrupted.
pub(super) struct Line {
    /// Class that gives it its colour.
    pub(super) class: String,
    /// What it shows, for the pointer.
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// An area between two lines.
pub(super) struct Band {
    pub(super) class: &'static str,
    /// Time, lower and upper value.
    pub(super) points: Vec<(f64, f64, f64)>,
}

/// What the vertical axis counts.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Percent,
    Ratio,
    Count,
}

pub(super) struct Chart {
    pub(super) title: String,
    pub(super) unit: Unit,
    /// Where the vertical axis begins.
    pub(super) floor: f64,
    /// What the vertical axis ends at, at the latest; higher values are cut.
    pub(super) ceiling: f64,
    pub(super) bands: Vec<Band>,
    pub(super) lines: Vec<Line>,
}

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;

/// The scales of a chart.
struct Scale {
    seconds: f64,
    low: f64,
    high: f64,
}

impl Scale {
    fn x(&self, seconds: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * seconds / self.seconds.max(1.0)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }
}

impl Chart {
    /// The chart in a figure with its title.
    pub(super) fn render(&self) -> String {
        let times = self.lines.iter().flat_map(|line| line.points.iter().map(|(at, _)| *at));
        let of_lines = self.lines.iter().flat_map(|line| line.points.iter().map(|(_, value)| *value));
        let of_bands = self.bands.iter().flat_map(|band| band.points.iter().map(|(_, _, upper)| *upper));
        let greatest = of_lines.chain(of_bands).filter(|value| value.is_finite()).fold(self.floor, f64::max);
        let steps = steps(self.floor, greatest.min(self.ceiling));
        let high = steps.last().copied().unwrap_or(1.0).max(self.floor + 1e-9);
        let scale = Scale { seconds: times.fold(0.0, f64::max), low: self.floor, high };
        let mut svg = format!(
            "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(&self.title),
            escape(&self.title)
        );
        for step in &steps {
            let y = scale.y(*step);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{}\" \
                 y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                self.unit.text(*step)
            );
        }
        for (seconds, label) in times_of(scale.seconds) {
            let x = scale.x(seconds);
            let anchor = if x > WIDTH - 30.0 { "end" } else { "middle" };
            let _ = write!(
                svg,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{label}</text>",
                HEIGHT - 9.0
            );
        }
        self.bands.iter().for_each(|band| svg.push_str(&area(band, &scale)));
        self.lines.iter().for_each(|line| svg.push_str(&path(line, &scale)));
        svg.push_str("</svg></figure>");
        svg
    }
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Self::Percent => format!("{:.0} %", value * 100.0),
            Self::Ratio => format!("{value:.2}"),
            Self::Count => format!("{value:.0}"),
        }
    }
}

fn path(line: &Line, scale: &Scale) -> String {
    let mut data = String::new();
    let mut pen_up = true;
    for (at, value) in &line.points {
        if value.is_finite() {
            let _ = write!(data, "{}{:.1} {:.1}", if pen_up { "M" } else { "L" }, scale.x(*at), scale.y(*value));
        }
        pen_up = !value.is_finite();
    }
    format!("<path class=\"line {}\" d=\"{data}\"><title>{}</title></path>", line.class, escape(&line.label))
}

fn area(band: &Band, scale: &Scale) -> String {
    let there = band.points.iter().map(|(at, _, upper)| format!("{:.1},{:.1}", scale.x(*at), scale.y(*upper)));
    let back = band.points.iter().rev().map(|(at, lower, _)| format!("{:.1},{:.1}", scale.x(*at), scale.y(*lower)));
    let points: Vec<String> = there.chain(back).collect();
    format!("<polygon class=\"{}\" points=\"{}\"/>", band.class, points.join(" "))
}

/// Round numbers from `low` to one at or above `high`.
fn steps(low: f64, high: f64) -> Vec<f64> {
    let span = (high - low).max(1e-6);
    let power = 10_f64.powf((span / 4.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| span / step <= 4.0);
    let step = step.unwrap_or(span);
    let mut steps = vec![low];
    while steps[steps.len() - 1] < high - 1e-9 {
        steps.push(steps[steps.len() - 1] + step);
    }
    if steps.len() == 1 {
        steps.push(low + step);
    }
    steps
}

/// Where the horizontal axis is labelled.
fn times_of(seconds: f64) -> Vec<(f64, String)> {
    let every = [60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 43_200.0, 86_400.0];
    let every = every.into_iter().find(|every| seconds / every <= 8.0).unwrap_or(seconds / 8.0);
    let label = |at: f64| match at {
        at if at <= 0.0 => "0".to_owned(),
        at if every >= 3_600.0 => format!("{:.0} h", at / 3_600.0),
        at => format!("{:.0} min", at / 60.0),
    };
    let mut times = vec![(0.0, label(0.0))];
    while times[times.len() - 1].0 + every <= seconds {
        let next = times[times.len() - 1].0 + every;
        times.push((next, label(next)));
    }
    times
}

/// Text that is safe between tags and in attributes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers_that_reach_the_greatest_value() {
        assert_eq!(steps(0.0, 1.0), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(steps(0.0, 7.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(steps(1.0, 1.0).len(), 2);
    }
}
