//! Moves on their way, and what they cost.

use std::collections::{HashMap, VecDeque};

use plerion_placement::explain::Move;

use crate::world::World;
use crate::world::vector::{OUT, Resources};

/// So many bundles a broker hands over at a time.
const AT_A_TIME: f64 = 16.0;

/// What a move adds at both ends while it lasts, as a share of the bundle's load.
const WHILE_MOVING: f64 = 0.1;

/// What clients that catch up add at the destination, as a share of the bundle's outgoing bandwidth …
const CATCHING_UP: f64 = 0.5;

/// … for so many seconds.
const CATCH_UP_TIME: f64 = 30.0;

/// How long, in seconds, nobody can publish to a bundle that moves.
pub(super) fn publish_gap(topics: u32) -> f64 {
    0.2 + 0.001 * f64::from(topics)
}

#[derive(Debug)]
struct Waiting {
    order: Move,
    bundle: u32,
    from: u32,
    to: Option<u32>,
}

#[derive(Debug)]
struct Moving {
    what: Waiting,
    until: f64,
}

/// A move that came to its end.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) order: Move,
    pub(super) bundle: u32,
    pub(super) succeeded: bool,
}

/// A move that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) bundle: u32,
    pub(super) gap: f64,
}

#[derive(Debug, Default)]
pub(super) struct Movers {
    waiting: VecDeque<Waiting>,
    moving: Vec<Moving>,
    /// The bundles that wait or move.
    busy: HashMap<u32, ()>,
}

impl Movers {
    /// Takes on a move. Returns whether it makes sense: the bundle is there, at rest, and the destination another host.
    pub(super) fn take_on(&mut self, order: &Move, world: &World) -> bool {
        let bundle = world.bundle(&order.bundle);
        let (Some(bundle), Some(from)) = (bundle, world.host(&order.from)) else { return false };
        let to = order.to.as_ref().map(|to| world.host(to));
        if world.bundles[bundle as usize].owner != from || to == Some(None) || to == Some(Some(from)) {
            return false;
        }
        if self.busy.insert(bundle, ()).is_some() {
            return false;
        }
        self.waiting.push_back(Waiting { order: order.clone(), bundle, from, to: to.flatten() });
        true
    }

    /// Begins what there is room for.
    pub(super) fn begin(&mut self, world: &mut World) -> Vec<Begun> {
        let mut begun = Vec::new();
        let mut room: HashMap<u32, f64> = HashMap::new();
        let mut later = VecDeque::new();
        while let Some(what) = self.waiting.pop_front() {
            let room = room.entry(what.from).or_insert(AT_A_TIME);
            if *room <= 0.0 {
                later.push_back(what);
                continue;
            }
            let gap = publish_gap(world.bundles[what.bundle as usize].topics);
            *room -= gap;
            let (from, until) = (world.now, world.now + gap);
            let extra = world.load(what.bundle) * WHILE_MOVING;
            world.burden(what.from, extra, from, until);
            if let Some(to) = what.to {
                world.burden(to, extra, from, until);
            }
            begun.push(Begun { bundle: what.bundle, gap });
            self.moving.push(Moving { what, until });
        }
        self.waiting = later;
        begun
    }

    /// Carries out what has ended by now. A bundle whose destination was left open is nobody's then.
    pub(super) fn end(&mut self, world: &mut World) -> Vec<Done> {
        let now = world.now;
        let ended: Vec<Moving> = self.moving.extract_if(.., |moving| moving.until <= now).collect();
        ended.into_iter().map(|moving| self.end_one(moving.what, world)).collect()
    }

    fn end_one(&mut self, what: Waiting, world: &mut World) -> Done {
        let Waiting { order, bundle, from, to } = what;
        self.busy.remove(&bundle);
        let is_there = world.bundles[bundle as usize].owner == from && world.bundles[bundle as usize].exists;
        let can_go = to.is_none_or(|to| world.hosts[to as usize].is_up());
        let succeeded = is_there && can_go;
        if succeeded {
            world.give(bundle, to);
        }
        if let (true, Some(to)) = (succeeded, to) {
            arrive(world, bundle, to);
        }
        Done { order, bundle, succeeded }
    }

    /// Whether any bundle waits or moves.
    pub(super) fn is_idle(&self) -> bool {
        self.busy.is_empty()
    }
}

/// Lets the clients of a bundle that has just moved catch up on its new host.
pub(super) fn arrive(world: &mut World, bundle: u32, to: u32) {
    let mut extra = Resources::default();
    extra.0[OUT] = world.load(bundle).0[OUT] * CATCHING_UP;
    let now = world.now;
    world.burden(to, extra, now, now + CATCH_UP_TIME);
}
