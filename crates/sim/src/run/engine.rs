//! A policy's leader and brokers at work in a simulated cluster.

use std::collections::{BTreeMap, BTreeSet};

use plerion_placement::balancer::{Balancer, BrokerInfo, Profile, Reporter};
use plerion_placement::explain::{Plan, Split};
use plerion_placement::filter::AntiAffinity;
use plerion_placement::{BrokerId, BundleName, Constraints};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::agenda::{Act, Agenda};
use super::footprint::{self, Footprint};
use super::movers::{self, Movers};
use super::transport::Transport;
use super::{Run, Surroundings};
use crate::chance::{Chance, Stream};
use crate::measure::{Bound, Label, Series, Snapshot, Tally, lower_bound, score};
use crate::scenario::{Scenario, ScenarioError};
use crate::world::{Host, Presence, World, build};

/// When the simulation starts, in milliseconds since 1970.
const EPOCH: i64 = 1_700_000_000_000;

/// The cluster is looked at every so many seconds.
const LOOK: u32 = 5;

/// Above this multiple of the lower bound a broker is one that should be relieved.
const BUSY: f64 = 1.02;

pub(super) struct Engine<'a> {
    scenario: &'a Scenario,
    profile: &'a Profile,
    seed: u64,
    world: World,
    balancer: Box<dyn Balancer>,
    reporters: Vec<Option<Box<dyn Reporter>>>,
    transport: Transport,
    agenda: Agenda,
    movers: Movers,
    /// Bundles that wait for a broker.
    unowned: Vec<u32>,
    rng: StdRng,
    chance: Chance,
    measure_every: u32,
    cycle_every: u32,
    /// When something first happens to the cluster.
    disturbed: f64,
    bound: (u64, Bound),
    tally: Tally,
    series: Series,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        profile: &'a Profile,
        seed: u64,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, ScenarioError> {
        let world = build(scenario, seed)?;
        let chance = Chance::new(seed);
        let agenda = Agenda::of(scenario);
        let first_change = world.first_change();
        let disturbed = [agenda.first(), first_change].into_iter().flatten().fold(f64::INFINITY, f64::min);
        let seconds = |ms: i64| {
            let own = u32::try_from(ms.max(0) / 1_000).unwrap_or(1);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bounded time")]
            own.max(scenario.pace.0 as u32).max(1)
        };
        let mut engine = Self {
            scenario,
            profile,
            seed,
            balancer: profile.balancer(),
            reporters: Vec::new(),
            transport: Transport::new(scenario.reports_lost.0, scenario.reports_late.0, chance),
            agenda,
            movers: Movers::default(),
            unowned: Vec::new(),
            rng: StdRng::seed_from_u64(chance.bits(Stream::Policy, 0, 0)),
            chance,
            measure_every: seconds(profile.clocks.measure),
            cycle_every: seconds(profile.clocks.cycle),
            disturbed: if disturbed.is_finite() { disturbed } else { 0.0 },
            bound: (u64::MAX, Bound::default()),
            tally: Tally::default(),
            series: Series::default(),
            world,
        };
        engine.begin(surroundings.allocated);
        Ok(engine)
    }

    /// The leader learns who is there and who has what, and every broker reports once.
    fn begin(&mut self, allocated: Option<fn() -> u64>) {
        let mut footprint = Footprint::new(allocated);
        for host in 0..self.world.hosts.len() {
            self.start_broker(host);
        }
        for bundle in &self.world.bundles {
            let owner = self.world.hosts.get(bundle.owner as usize).map(|host| &host.id);
            footprint.count(|| self.balancer.owner(&BundleName::from(&*bundle.name), owner, EPOCH));
        }
        self.world.advance(0.0);
        for host in 0..self.world.hosts.len() {
            let measured = self.world.measure(host, EPOCH);
            let Some(reporter) = &mut self.reporters[host] else { continue };
            let (id, settings) = (&self.world.hosts[host].id, &self.profile.settings);
            // A report comes and goes within what is counted, so that only what is kept of it remains.
            footprint.count(|| {
                if let Some(report) = reporter.measure(&measured, settings).report {
                    self.balancer.report(id, &footprint::received(report), settings, EPOCH);
                }
            });
        }
        self.tally.bytes_per_bundle = footprint.for_each(self.world.bundles.len());
    }

    fn start_broker(&mut self, host: usize) {
        let id = self.world.hosts[host].id.clone();
        let info = BrokerInfo::default();
        while self.reporters.len() <= host {
            self.reporters.push(None);
        }
        self.reporters[host] = Some(self.profile.reporter(&id, &info));
        let now = self.now_ms();
        self.balancer.broker_joined(&id, &info, now);
    }

    fn now_ms(&self) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "whole seconds of less than a year")]
        let since = self.world.now as i64;
        EPOCH + since * 1_000
    }

    /// One second.
    pub(super) fn step(&mut self, second: u32, surroundings: &mut Surroundings<'_>) {
        let now = f64::from(second);
        while let Some(act) = self.agenda.due(now) {
            self.act(act);
        }
        self.world.advance(now);
        self.end_moves();
        self.measure(second);
        for (host, report) in self.transport.arrived(now) {
            let now = self.now_ms();
            self.balancer.report(&self.world.hosts[host as usize].id, &report, &self.profile.settings, now);
        }
        self.place_unowned();
        if second.is_multiple_of(self.cycle_every) {
            self.decide(now, surroundings);
        }
        self.begin_moves();
        self.world.settle();
        if second.is_multiple_of(LOOK) {
            let bound = self.bound();
            self.series.note(&self.world, bound.level, self.tally.moves);
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Crash(host) => {
                self.world.set_presence(host, Presence::Down);
                self.reporters[host as usize] = None;
                self.transport.forget(host);
            }
            Act::Missed(host) => self.lose(host),
            Act::Announce(host) if self.world.hosts[host as usize].is_up() => {
                self.world.set_presence(host, Presence::Leaving);
                self.balancer.drain(&self.world.hosts[host as usize].id, true);
            }
            Act::Leave(host) if self.world.hosts[host as usize].is_up() => {
                self.world.set_presence(host, Presence::Down);
                self.reporters[host as usize] = None;
                self.transport.forget(host);
                self.lose(host);
                self.balancer.drain(&self.world.hosts[host as usize].id, false);
            }
            Act::Return(host) => {
                self.world.set_presence(host, Presence::Up);
                self.start_broker(host as usize);
            }
            Act::Join(group) => {
                for _ in 0..group.count.0 {
                    let number = self.world.hosts.len();
                    let host = self.world.join(Host::new(number, &group, false));
                    self.start_broker(host as usize);
                }
            }
            Act::Announce(_) | Act::Leave(_) => {}
        }
    }

    /// The cluster sees that a broker is gone; its bundles need another.
    fn lose(&mut self, host: u32) {
        let now = self.now_ms();
        let id = self.world.hosts[host as usize].id.clone();
        self.balancer.broker_left(&id, now);
        for bundle in self.world.owned_by(host as usize).to_vec() {
            self.world.give(bundle, None);
            self.balancer.owner(&self.world.bundles[bundle as usize].name, None, now);
            self.unowned.push(bundle);
        }
    }

    fn end_moves(&mut self) {
        let now = self.now_ms();
        for done in self.movers.end(&mut self.world) {
            let bundle = &self.world.bundles[done.bundle as usize];
            let name = bundle.name.clone();
            if done.succeeded {
                let owner = self.world.hosts.get(bundle.owner as usize).map(|host| &host.id);
                self.balancer.owner(&name, owner, now);
                if owner.is_none() {
                    self.unowned.push(done.bundle);
                }
                self.tally.last_move = Some(self.world.now);
            }
            self.balancer.finished(&done.order, done.succeeded, now);
        }
        self.world.settle();
    }

    fn measure(&mut self, second: u32) {
        let at = self.now_ms();
        let hosts = u32::try_from(self.world.hosts.len()).unwrap_or(u32::MAX);
        for host in 0..hosts {
            let turn = self.chance.below(Stream::Phase, 0, u64::from(host), u64::from(self.measure_every));
            let is_due = u64::from(second % self.measure_every) == turn;
            let Some(reporter) = self.reporters[host as usize].as_mut().filter(|_| is_due) else { continue };
            let measured = self.world.measure(host as usize, at);
            let reported = reporter.measure(&measured, &self.profile.settings);
            self.transport.send(host, reported.report, self.world.now);
            for split in reported.splits {
                self.split(&split);
            }
        }
    }

    fn split(&mut self, split: &Split) {
        let now = self.now_ms();
        if let Some((parent, children)) = self.world.split(split) {
            self.tally.splits += 1;
            self.balancer.split(&self.world.bundles[parent as usize].name, &children, now);
        }
    }

    fn place_unowned(&mut self) {
        let now = self.now_ms();
        let (bundles, constraints) = (std::mem::take(&mut self.unowned), Rules::of(self));
        for bundle in bundles {
            let name = self.world.bundles[bundle as usize].name.clone();
            let chosen = self.balancer.place(&name, &constraints.get(), now, &mut self.rng);
            let host = chosen.as_ref().and_then(|id| self.world.host(id));
            match host.filter(|host| self.world.hosts[*host as usize].is_up()) {
                Some(host) => {
                    self.world.give(bundle, Some(host));
                    movers::arrive(&mut self.world, bundle, host);
                    self.balancer.owner(&name, chosen.as_ref(), now);
                    self.tally.placements += 1;
                }
                None => self.unowned.push(bundle),
            }
        }
        self.world.settle();
    }

    fn decide(&mut self, now: f64, surroundings: &mut Surroundings<'_>) {
        let at = self.now_ms();
        let rules = Rules::of(self);
        let started = surroundings.clock.monotonic();
        let plan = self.balancer.decide(&rules.get(), at, &mut self.rng);
        let took = surroundings.clock.monotonic().saturating_sub(started);
        self.tally.decide_ms.push(took.as_secs_f64() * 1e3);
        (surroundings.watch)(now, &plan);
        self.carry_out(&plan);
    }

    fn carry_out(&mut self, plan: &Plan) {
        if !plan.moves.is_empty() && self.tally.before.is_none() {
            let bound = self.bound();
            self.tally.before = Some(Snapshot::take(&self.world, bound));
        }
        for split in &plan.splits {
            self.split(split);
        }
        let level = BUSY * self.bound().level;
        let (now, at) = (self.world.now, self.now_ms());
        let mut began = false;
        for order in &plan.moves {
            if !self.movers.take_on(order, &self.world) {
                self.balancer.finished(order, false, at);
                continue;
            }
            began = true;
            let from = self.world.host(&order.from).map(|host| host as usize);
            let relieves =
                from.is_some_and(|from| !self.world.hosts[from].stays() || self.world.utilisation(from) > level);
            if relieves && now >= self.disturbed && self.tally.first_move.is_none() {
                self.tally.first_move = Some(now);
            }
        }
        self.tally.rounds += u32::from(began);
    }

    fn begin_moves(&mut self) {
        if self.movers.is_idle() {
            return;
        }
        let scarcest = self.tally.before.as_ref().map_or(0, |before| before.bound.scarcest);
        let (mut total, mut clients) = (0.0, 0.0);
        for bundle in self.world.bundles_alive() {
            total += self.world.load(bundle).0[scarcest];
            clients += self.world.clients(bundle);
        }
        for begun in self.movers.begin(&mut self.world) {
            let amount = self.world.load(begun.bundle).0[scarcest];
            self.tally.moves += 1;
            self.tally.moves_before += u32::from(self.world.now < self.disturbed);
            *self.tally.moved.entry(begun.bundle).or_insert(0) += 1;
            self.tally.moved_amount += amount;
            self.tally.moved_share += amount / total.max(1e-9);
            self.tally.interruption += begun.gap * self.world.clients(begun.bundle) / clients.max(1.0);
        }
    }

    fn bound(&mut self) -> Bound {
        if self.bound.0 != self.world.version {
            self.bound = (self.world.version, lower_bound(&self.world));
        }
        self.bound.1
    }

    pub(super) fn finish(self) -> Run {
        let label = Label {
            policy: self.profile.name.clone(),
            scenario: self.scenario.name.clone(),
            seed: self.seed,
            brokers: self.world.hosts_up().count(),
            bundles: self.world.bundles_alive().count(),
            duration: self.scenario.duration.0,
            disturbed: self.disturbed,
        };
        Run {
            outcome: score(label, &self.tally, &self.series),
            about: self.scenario.about.clone(),
            series: self.series,
        }
    }
}

/// What the cluster's operators demand, held apart from the engine so that the leader can be asked meanwhile.
struct Rules<'a> {
    isolation: std::sync::Arc<plerion_placement::filter::IsolationPolicies>,
    anti_affinity: AntiAffinity,
    domains: BTreeMap<BrokerId, String>,
    non_persistent: BTreeSet<BundleName>,
    profile: &'a Profile,
}

impl<'a> Rules<'a> {
    fn of(engine: &Engine<'a>) -> Self {
        Self {
            isolation: engine.world.isolation.clone(),
            anti_affinity: AntiAffinity::default(),
            domains: BTreeMap::new(),
            non_persistent: BTreeSet::new(),
            profile: engine.profile,
        }
    }

    fn get(&self) -> Constraints<'_> {
        Constraints {
            isolation: &self.isolation,
            anti_affinity: &self.anti_affinity,
            domains: &self.domains,
            non_persistent: &self.non_persistent,
            load_manager_class: self.profile.load_manager_class(),
            settings: &self.profile.settings,
        }
    }
}
