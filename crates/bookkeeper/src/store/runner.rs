//! Gives a machine what it asks for: bookies, the metadata store, time.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::atomic::Ordering;

use plerion_ledger::LedgerId;

use super::shard::Shard;
use crate::bookie::BookieId;
use crate::digest::MasterKey;
use crate::directory::Told;
use crate::net::{Answered, Waiter};
use crate::protocol::read::{self, Read};
use crate::protocol::recovery::{self, Recovery};
use crate::protocol::writer::{self, Writer};
use crate::protocol::{Action, Places, Reply, Token, Wake};

/// A machine of any kind.
pub(super) trait Machine: 'static {
    type Event: 'static;
    fn reply(
        &mut self,
        from: &BookieId,
        token: Token,
        reply: Reply,
        places: &mut dyn Places,
        out: &mut Vec<Action<Self::Event>>,
    );
    fn told(&mut self, told: Told, places: &mut dyn Places, out: &mut Vec<Action<Self::Event>>);
    fn wake(&mut self, wake: Wake, out: &mut Vec<Action<Self::Event>>);
}

type Tell<E> = Box<dyn Fn(E)>;

/// A machine at work.
pub(super) struct Runner<M: Machine> {
    pub(super) machine: RefCell<M>,
    ledger: LedgerId,
    key: MasterKey,
    shard: Rc<Shard>,
    tell: Tell<M::Event>,
    me: Weak<Self>,
}

impl<M: Machine> Runner<M> {
    pub(super) fn new(shard: &Rc<Shard>, ledger: LedgerId, machine: M, tell: Tell<M::Event>) -> Rc<Self> {
        Rc::new_cyclic(|me| Self {
            machine: RefCell::new(machine),
            ledger,
            key: MasterKey::of(&shard.config.password),
            shard: Rc::clone(shard),
            tell,
            me: me.clone(),
        })
    }

    /// Does what the machine wants, in order. The machine must not be borrowed.
    pub(super) fn carry_out(&self, actions: Vec<Action<M::Event>>) {
        for action in actions {
            if let Some(event) = self.carry_out_one(action) {
                (self.tell)(event);
            }
        }
    }

    /// The same, but tells nothing before the caller has returned.
    pub(super) fn carry_out_quietly(&self, actions: Vec<Action<M::Event>>) {
        for action in actions {
            if let Some(event) = self.carry_out_one(action)
                && let Some(me) = self.me.upgrade()
            {
                tokio::task::spawn_local(async move { (me.tell)(event) });
            }
        }
    }

    fn carry_out_one(&self, action: Action<M::Event>) -> Option<M::Event> {
        let me = self.me.upgrade()?;
        match action {
            Action::Send { to, call, token } => {
                let address = self.shard.pool.borrow().address(&to);
                let waiter = Waiter { whom: me, token };
                self.shard.connections.call(&to, address, (self.ledger, self.key), &call, waiter);
            }
            Action::Ask(ask) => {
                tokio::task::spawn_local(async move {
                    let told = me.shard.directory.ask(me.ledger, ask).await;
                    let mut out = Vec::new();
                    {
                        let mut pool = me.shard.pool_now();
                        me.machine.borrow_mut().told(told, &mut *pool, &mut out);
                    }
                    me.carry_out(out);
                });
            }
            Action::Wake { after, wake } => {
                tokio::task::spawn_local(async move {
                    tokio::time::sleep(after).await;
                    let mut out = Vec::new();
                    me.machine.borrow_mut().wake(wake, &mut out);
                    me.carry_out(out);
                });
            }
            Action::Tell(event) => return Some(event),
        }
        None
    }
}

impl<M: Machine> Answered for Runner<M> {
    fn answered(&self, from: &BookieId, token: Token, reply: Reply) {
        let mut out = Vec::new();
        {
            let mut pool = self.shard.pool_now();
            if let Reply::Failed(failure) = &reply {
                self.shard.metrics.bookie_failures.fetch_add(1, Ordering::Relaxed);
                pool.strike(from, *failure);
            }
            self.machine.borrow_mut().reply(from, token, reply, &mut *pool, &mut out);
        }
        self.carry_out(out);
    }
}

impl Machine for Writer {
    type Event = writer::Event;

    fn reply(
        &mut self,
        from: &BookieId,
        token: Token,
        reply: Reply,
        places: &mut dyn Places,
        out: &mut Vec<Action<writer::Event>>,
    ) {
        self.on_reply(from, token, reply, places, out);
    }

    fn told(&mut self, told: Told, places: &mut dyn Places, out: &mut Vec<Action<writer::Event>>) {
        self.on_told(told, places, out);
    }

    fn wake(&mut self, wake: Wake, out: &mut Vec<Action<writer::Event>>) {
        self.on_wake(wake, out);
    }
}

impl Machine for Recovery {
    type Event = recovery::Event;

    fn reply(
        &mut self,
        from: &BookieId,
        token: Token,
        reply: Reply,
        places: &mut dyn Places,
        out: &mut Vec<Action<recovery::Event>>,
    ) {
        self.on_reply(from, token, reply, places, out);
    }

    fn told(&mut self, told: Told, _: &mut dyn Places, out: &mut Vec<Action<recovery::Event>>) {
        self.on_told(told, out);
    }

    fn wake(&mut self, wake: Wake, out: &mut Vec<Action<recovery::Event>>) {
        self.on_wake(wake, out);
    }
}

impl Machine for Read {
    type Event = read::Event;

    fn reply(
        &mut self,
        from: &BookieId,
        token: Token,
        reply: Reply,
        _: &mut dyn Places,
        out: &mut Vec<Action<read::Event>>,
    ) {
        self.on_reply(from, token, reply, out);
    }

    fn told(&mut self, _: Told, _: &mut dyn Places, _: &mut Vec<Action<read::Event>>) {}

    fn wake(&mut self, wake: Wake, out: &mut Vec<Action<read::Event>>) {
        self.on_wake(&wake, out);
    }
}
