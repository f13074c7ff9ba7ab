//! Chance as a function of the seed: what happens in the world is the same whatever a policy does.

/// What a random number is drawn for. Numbers of different streams have nothing to do with each other.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Stream {
    Size = 1,
    Cost,
    Topics,
    TopicPlace,
    Start,
    Noise,
    TenantNoise,
    Spike,
    Crowd,
    Grower,
    StepTime,
    StepBundle,
    Late,
    Lost,
    Phase,
    Policy,
    Scenario,
}

/// A source of random numbers that are computed, not drawn in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x9e37_79b9_7f4a_7c15))
    }

    /// The bits at place (a, b) of a stream.
    pub(crate) const fn bits(self, stream: Stream, a: u64, b: u64) -> u64 {
        let stream = mix(self.0 ^ (stream as u64).wrapping_mul(0xd6e8_feb8_6659_fd93));
        mix(mix(stream ^ a.wrapping_mul(0xa076_1d64_78bd_642f)) ^ b.wrapping_mul(0xe703_7ed1_a0b4_28db))
    }

    /// A number from 0 up to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(crate) const fn unit(self, stream: Stream, a: u64, b: u64) -> f64 {
        (self.bits(stream, a, b) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normally distributed number with deviation 1.
    pub(crate) fn normal(self, stream: Stream, a: u64, b: u64) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit(stream, a, 2 * b)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit(stream, a, 2 * b + 1)).cos()
    }

    /// Numbers with deviation 1 of nearly normal distribution, cheap enough for every bundle and second.
    #[expect(clippy::cast_precision_loss, reason = "a sum of four 16-bit numbers fits")]
    pub(crate) const fn wobble(self, stream: Stream, a: u64, b: u64) -> f64 {
        let bits = self.bits(stream, a, b);
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        // The sum of four uniform numbers has a variance of 4/12.
        (sum as f64 / 65_535.0 - 2.0) * 1.732_050_807_568_877_2
    }

    /// A whole number below `limit`, which is at least 1.
    pub(crate) const fn below(self, stream: Stream, a: u64, b: u64, limit: u64) -> u64 {
        self.bits(stream, a, b) % limit
    }
}

/// The finaliser of `splitmix64`: every bit of the input changes half of the output's.
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Chance, Stream};

    #[test]
    fn numbers_have_the_mean_and_deviation_they_promise() {
        let chance = Chance::new(7);
        let moments = |draw: &dyn Fn(u64) -> f64| {
            let draws: Vec<f64> = (0..20_000).map(draw).collect();
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            (mean, (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0).sqrt())
        };
        for draw in [|i| Chance::new(7).normal(Stream::Size, i, 3), |i| Chance::new(7).wobble(Stream::Noise, 5, i)] {
            let (mean, deviation) = moments(&draw);
            assert!(mean.abs() < 0.03 && (deviation - 1.0).abs() < 0.03, "{mean} {deviation}");
        }
        let (mean, deviation) = moments(&|i| chance.unit(Stream::Lost, i, i));
        assert!((mean - 0.5).abs() < 0.01 && (deviation - 0.2887).abs() < 0.01, "{mean} {deviation}");
    }
}
