//! Threads that read from disk, so that shards never do.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::engine::Engine;

/// Something to be done on a reading thread.
pub(crate) type Task = Box<dyn FnOnce(&Engine) + Send>;

/// The queue of the reading threads.
#[derive(Default)]
pub(crate) struct Readers {
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    stopped: bool,
}

impl Readers {
    /// Hands `task` to a thread. After [`stop`](Self::stop) it is dropped.
    pub(crate) fn submit(&self, task: Task) {
        let mut queue = self.queue.lock();
        if !queue.stopped {
            queue.tasks.push_back(task);
            self.filled.notify_one();
        }
    }

    pub(crate) fn stop(&self) {
        let mut queue = self.queue.lock();
        queue.stopped = true;
        queue.tasks.clear();
        self.filled.notify_all();
    }

    fn next(&self) -> Option<Task> {
        let mut queue = self.queue.lock();
        while !queue.stopped {
            match queue.tasks.pop_front() {
                Some(task) => return Some(task),
                None => self.filled.wait(&mut queue),
            }
        }
        None
    }
}

/// What a reading thread does until it is stopped.
pub(crate) fn run(engine: &Arc<Engine>) {
    while let Some(task) = engine.readers.next() {
        task(engine);
    }
}
