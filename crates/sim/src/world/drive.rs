//! How the load of bundles changes over time.

use super::trace::Trace;
use super::{Namespace, Root};
use crate::chance::{Chance, Stream};
use crate::scenario::{Diurnal, Flash, Growth, Load, Noise};

/// One bundle that changes at a moment and stays changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepAt {
    pub(super) at: f64,
    pub(super) root: u32,
    pub(super) factor: f64,
}

#[derive(Clone)]
pub(super) struct Drive {
    chance: Chance,
    diurnal: Option<Diurnal>,
    growth: Option<Growth>,
    flash: Vec<Flash>,
    noise: Option<Wavering>,
    steps: Vec<StepAt>,
    trace: Option<Trace>,
    /// What each namespace's load is multiplied by.
    of_namespaces: Vec<f64>,
    /// What each root's load is multiplied by for itself.
    of_steps: Vec<f64>,
    /// What each root's load is multiplied by in all; empty while that is 1 for all.
    factors: Vec<f32>,
}

impl Drive {
    pub(super) fn new(load: &Load, steps: Vec<StepAt>, trace: Option<Trace>, chance: Chance) -> Self {
        Self {
            chance,
            diurnal: load.diurnal.clone(),
            growth: load.growth.clone(),
            flash: load.flash.clone(),
            noise: load.noise.clone().map(Wavering::new),
            steps,
            trace,
            of_namespaces: Vec::new(),
            of_steps: Vec::new(),
            factors: Vec::new(),
        }
    }

    /// What the load of a root is multiplied by.
    pub(super) fn factor(&self, root: u32) -> f64 {
        self.factors.get(root as usize).copied().map_or(1.0, f64::from)
    }

    /// When a step happens or a crowd begins to come for the first time.
    pub(super) fn first_change(&self) -> Option<f64> {
        self.steps.iter().map(|step| step.at).chain(self.flash.iter().map(|flash| flash.at.0)).min_by(f64::total_cmp)
    }

    /// Goes on to `now`. Returns whether the load of any bundle has changed.
    #[expect(clippy::cast_possible_truncation, reason = "a factor needs no more")]
    pub(super) fn advance(&mut self, now: f64, roots: &mut [Root], namespaces: &[Namespace]) -> bool {
        let traced = self.trace.as_mut().is_some_and(|trace| trace.advance(now, roots));
        let of_namespaces: Vec<f64> =
            (0..).zip(namespaces).map(|(number, namespace)| self.of_namespace(now, number, namespace)).collect();
        let mut changed = of_namespaces.iter().any(|factor| (factor - 1.0).abs() > 1e-12);
        if !self.of_namespaces.is_empty() || changed {
            changed = of_namespaces != self.of_namespaces;
            self.of_namespaces = of_namespaces;
        }
        changed |= self.take_steps(now, roots.len());
        if let Some(noise) = &mut self.noise {
            noise.advance(now, roots, namespaces, self.chance);
            changed = true;
        }
        if changed {
            self.factors.resize(roots.len(), 1.0);
            for ((index, root), factor) in (0..).zip(roots.iter()).zip(&mut self.factors) {
                let of_namespace = self.of_namespaces.get(root.namespace as usize).copied().unwrap_or(1.0);
                let of_step = self.of_steps.get(index).copied().unwrap_or(1.0);
                let of_noise = self.noise.as_ref().map_or(1.0, |noise| noise.factor(index, root, namespaces));
                *factor = (of_namespace * of_step * of_noise) as f32;
            }
        }
        changed || traced
    }

    fn take_steps(&mut self, now: f64, roots: usize) -> bool {
        let before = self.steps.len();
        let due: Vec<StepAt> = self.steps.extract_if(.., |step| step.at <= now).collect();
        for step in due {
            self.of_steps.resize(roots, 1.0);
            self.of_steps[step.root as usize] *= step.factor;
        }
        self.steps.len() != before
    }

    fn of_namespace(&self, now: f64, number: u64, namespace: &Namespace) -> f64 {
        let mut factor = 1.0;
        if let Some(Diurnal { period, depth, spread }) = &self.diurnal {
            let noon = spread.0 * self.chance.unit(Stream::Phase, 1, u64::from(namespace.tenant));
            factor *= 1.0 + depth.0 * (std::f64::consts::TAU * (now / period.0.max(1.0) - noon)).sin();
        }
        if let Some(Growth { per_hour, namespaces }) = &self.growth
            && self.chance.unit(Stream::Grower, 0, number) < namespaces.0
        {
            factor *= 1.0 + per_hour.0 * now / 3_600.0;
        }
        for (crowd, flash) in (0..).zip(&self.flash) {
            if self.chance.unit(Stream::Crowd, crowd, number) < flash.namespaces.0 {
                factor *= 1.0 + (flash.factor.0 - 1.0) * presence(flash, now);
            }
        }
        factor
    }
}

/// How much of a crowd is there, from 0 to 1.
fn presence(flash: &Flash, now: f64) -> f64 {
    let since = now - flash.at.0;
    let until = since - flash.rise.0 - flash.hold.0;
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
    if since < 0.0 {
        0.0
    } else if since < flash.rise.0 {
        share(since, flash.rise.0)
    } else if until < 0.0 {
        1.0
    } else {
        (1.0 - share(until, flash.fall.0)).max(0.0)
    }
}

/// Noise: slow wavering of each bundle and of each tenant, and spikes.
#[derive(Clone)]
struct Wavering {
    noise: Noise,
    tick: u64,
    last: Option<f64>,
    /// In units of the deviation.
    of_roots: Vec<f32>,
    of_tenants: Vec<f64>,
    spike_until: Vec<f32>,
}

impl Wavering {
    fn new(noise: Noise) -> Self {
        Self { noise, tick: 0, last: None, of_roots: Vec::new(), of_tenants: Vec::new(), spike_until: Vec::new() }
    }

    #[expect(clippy::cast_possible_truncation, reason = "noise needs no more")]
    fn advance(&mut self, now: f64, roots: &[Root], namespaces: &[Namespace], chance: Chance) {
        let tenants = namespaces.iter().map(|namespace| namespace.tenant as usize + 1).max().unwrap_or(0);
        let Some(last) = self.last.replace(now) else {
            self.of_roots = (0..roots.len()).map(|root| chance.normal(Stream::Noise, root as u64, 0) as f32).collect();
            self.of_tenants = (0..tenants).map(|tenant| chance.normal(Stream::TenantNoise, tenant as u64, 0)).collect();
            self.spike_until = vec![-1.0; roots.len()];
            return;
        };
        self.tick += 1;
        let step = now - last;
        let stays = (-step / self.noise.correlation.0.max(1e-3)).exp();
        let fresh = (1.0 - stays * stays).sqrt();
        for (root, value) in (0_u64..).zip(&mut self.of_roots) {
            *value = (stays * f64::from(*value) + fresh * chance.wobble(Stream::Noise, root, self.tick + 1)) as f32;
        }
        for (tenant, value) in (0_u64..).zip(&mut self.of_tenants) {
            *value = stays * *value + fresh * chance.wobble(Stream::TenantNoise, tenant, self.tick + 1);
        }
        let begins = self.noise.spikes.0 * step / self.noise.spike_length.0.max(1e-3);
        if begins > 0.0 {
            for (root, until) in (0_u64..).zip(&mut self.spike_until) {
                if chance.unit(Stream::Spike, root, self.tick) < begins {
                    *until = (now + self.noise.spike_length.0) as f32;
                }
            }
        }
    }

    fn factor(&self, index: usize, root: &Root, namespaces: &[Namespace]) -> f64 {
        let clip = self.noise.clip.0;
        let own = 1.0 + (self.noise.sd.0 * f64::from(self.of_roots[index])).clamp(-clip, clip);
        let tenant = namespaces[root.namespace as usize].tenant as usize;
        let common = (1.0 + self.noise.tenant_sd.0 * self.of_tenants[tenant]).max(0.0);
        let spikes = self.last.is_some_and(|now| f64::from(self.spike_until[index]) > now);
        own * common * if spikes { self.noise.spike_factor.0 } else { 1.0 }
    }
}
