//! Scenarios made up from a seed.

use toml::Spanned;

use super::{Action, Amount, Bundles, Count, Diurnal, Event, Flash, HostGroup, Level, Load, Noise, Scenario};
use super::{Seconds, Share, Sizes, Start, Step, Usage};
use crate::chance::{Chance, Stream};

/// Draws one number after the other.
struct Draws {
    chance: Chance,
    drawn: u64,
}

impl Draws {
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        self.chance.unit(Stream::Scenario, 0, self.drawn)
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Between the two, as likely to be near the one as near the other on a logarithmic scale.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    fn count(&mut self, low: f64, high: f64) -> u32 {
        self.scale(low, high).round() as u32
    }

    fn happens(&mut self, chance: f64) -> bool {
        self.unit() < chance
    }
}

/// The scenario of this seed: any size up to 30 brokers and 3000 bundles, any start, and up to a few of the things that
/// scenario files can ask for.
#[must_use]
pub fn random(seed: u64) -> Scenario {
    let mut draws = Draws { chance: Chance::new(seed), drawn: 0 };
    let hosts = hosts(&mut draws);
    let count: u32 = hosts.iter().map(|group| group.count.0).sum();
    let bundles = bundles(&mut draws, count);
    let duration = draws.between(2_400.0, 5_400.0).round();
    let load = load(&mut draws, duration);
    let events = events(&mut draws, count, duration);
    Scenario {
        name: "random".to_owned(),
        about: String::new(),
        duration: Seconds(duration),
        session_timeout: super::default_session_timeout(),
        pace: Seconds(0.0),
        reports_lost: super::default_lost(),
        reports_late: super::default_late(),
        hosts: at_no_line(hosts),
        bundles,
        load,
        events,
    }
}

fn at_no_line<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

fn hosts(draws: &mut Draws) -> Vec<HostGroup> {
    let mut first = HostGroup::usual(draws.count(3.0, 24.0));
    if draws.happens(0.3) {
        first.foreign = Usage(draws.between(0.0, 0.2));
        first.foreign_swing = Usage(draws.between(0.0, first.foreign.0));
    }
    let mut groups = vec![first];
    if draws.happens(0.5) {
        let mut second = HostGroup::usual(draws.count(1.0, 6.0));
        let size = draws.scale(0.5, 2.0);
        second.cores = Amount(second.cores.0 * size);
        second.in_mbytes = Amount(second.in_mbytes.0 * size);
        second.out_mbytes = Amount(second.out_mbytes.0 * size);
        second.memory_gbytes = Amount(second.memory_gbytes.0 * size);
        if draws.happens(0.3) {
            second.foreign = Usage(draws.between(0.0, 0.3));
        }
        groups.push(second);
    }
    groups
}

fn bundles(draws: &mut Draws, hosts: u32) -> Bundles {
    let mut bundles = Bundles::usual((hosts * draws.count(15.0, 100.0)).min(3_000));
    bundles.sizes = if draws.happens(0.7) { Sizes::Zipf } else { Sizes::LogNormal };
    bundles.exponent = Level(draws.between(0.4, 1.1));
    bundles.out = Usage(draws.between(0.2, 0.6));
    bundles.cpu = Usage(bundles.out.0 * draws.between(0.5, 1.2));
    bundles.fan_out = Amount(draws.scale(1.0, 5.0));
    bundles.message_bytes = Amount(draws.scale(200.0, 20_000.0));
    bundles.topics = Count(draws.count(1.0, 100.0));
    bundles.topic_exponent = Level(draws.between(0.0, 1.0));
    bundles.start = match draws.unit() {
        start if start < 0.4 => Start::Random,
        start if start < 0.6 => Start::Even,
        _ => Start::Skewed,
    };
    bundles.skew = Share(draws.between(0.1, 0.8));
    if draws.happens(0.2) {
        bundles.isolated = Share(draws.between(0.1, 0.4));
    }
    bundles
}

fn load(draws: &mut Draws, duration: f64) -> Load {
    let mut load = Load::default();
    if draws.happens(0.4) {
        load.noise = Some(Noise {
            correlation: Seconds(draws.scale(60.0, 1_200.0)),
            sd: Share(draws.between(0.02, 0.2)),
            clip: Share(0.4),
            tenant_sd: Share(draws.between(0.0, 0.12)),
            spikes: Share(draws.between(0.0, 0.01)),
            spike_factor: Amount(5.0),
            spike_length: Seconds(10.0),
        });
    }
    if draws.happens(0.2) {
        let period = draws.between(3_600.0, 14_400.0);
        let (depth, spread) = (draws.between(0.1, 0.5), draws.unit());
        load.diurnal = Some(Diurnal { period: Seconds(period), depth: Share(depth), spread: Share(spread) });
    }
    if draws.happens(0.3) {
        load.step.push(Step {
            from: Seconds(draws.between(0.3, 0.6) * duration),
            to: None,
            least: Share(0.05),
            most: Share(0.4),
            factor: Amount(draws.between(1.5, 3.0)),
        });
    }
    if draws.happens(0.2) {
        load.flash.push(Flash {
            at: Seconds(draws.between(0.2, 0.5) * duration),
            rise: Seconds(draws.between(5.0, 300.0)),
            hold: Seconds(draws.between(300.0, 1_200.0)),
            fall: Seconds(draws.between(5.0, 300.0)),
            namespaces: Share(draws.between(0.05, 0.3)),
            factor: Amount(draws.between(1.5, 3.0)),
        });
    }
    load
}

fn events(draws: &mut Draws, hosts: u32, duration: f64) -> Vec<Spanned<Event>> {
    if !draws.happens(0.4) || hosts < 4 {
        return Vec::new();
    }
    let action = match draws.unit() {
        action if action < 0.4 => Action::Crash,
        action if action < 0.7 => Action::Join,
        _ => Action::Leave,
    };
    let host = draws.count(1.0, f64::from(hosts)).min(hosts) - 1;
    let down = (action == Action::Crash && draws.happens(0.7)).then(|| Seconds(draws.between(20.0, 600.0)));
    let event = Event {
        at: Seconds((draws.between(0.2, 0.5) * duration).round()),
        action: at_no_line(action),
        hosts: (action != Action::Join).then(|| at_no_line(vec![host])),
        notice: Seconds(60.0),
        down,
        pause: Seconds(60.0),
        join: (action == Action::Join).then(|| HostGroup::usual(1)),
    };
    vec![at_no_line(event)]
}
