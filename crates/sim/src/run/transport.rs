//! Reports on their way to the leader: some late, some lost.

use plerion_placement::balancer::Report;

use crate::chance::{Chance, Stream};

#[derive(Debug)]
struct Letter {
    arrives: f64,
    host: u32,
    number: u64,
    report: Report,
}

/// A broker's report that was lost; it is sent again with the next measurement unless that has a report of its own.
#[derive(Debug, Default)]
struct Sender {
    sent: u64,
    lost: Option<Report>,
    /// Number of the newest report that arrived.
    arrived: u64,
}

#[derive(Debug)]
pub(super) struct Transport {
    chance: Chance,
    lost: f64,
    late: f64,
    senders: Vec<Sender>,
    letters: Vec<Letter>,
}

impl Transport {
    pub(super) fn new(lost: f64, late: f64, chance: Chance) -> Self {
        Self { chance, lost, late, senders: Vec::new(), letters: Vec::new() }
    }

    /// Sends what a broker reports, or what it could not get through before.
    pub(super) fn send(&mut self, host: u32, report: Option<Report>, now: f64) {
        while self.senders.len() <= host as usize {
            self.senders.push(Sender::default());
        }
        let sender = &mut self.senders[host as usize];
        let Some(report) = report.or_else(|| sender.lost.take()) else { return };
        sender.lost = None;
        sender.sent += 1;
        let (host_key, number) = (u64::from(host), sender.sent);
        if self.chance.unit(Stream::Lost, host_key, number) < self.lost {
            sender.lost = Some(report);
            return;
        }
        let arrives = now + self.late * self.chance.unit(Stream::Late, host_key, number);
        self.letters.push(Letter { arrives, host, number, report });
    }

    /// A broker is gone, and with it what it could not send.
    pub(super) fn forget(&mut self, host: u32) {
        self.letters.retain(|letter| letter.host != host);
        if let Some(sender) = self.senders.get_mut(host as usize) {
            sender.lost = None;
        }
    }

    /// What has arrived by `now`, in order of arrival. What a newer report overtook is left out.
    pub(super) fn arrived(&mut self, now: f64) -> Vec<(u32, Report)> {
        let mut arrived: Vec<Letter> = self.letters.extract_if(.., |letter| letter.arrives <= now).collect();
        arrived.sort_by(|a, b| a.arrives.total_cmp(&b.arrives).then(a.host.cmp(&b.host)));
        let senders = &mut self.senders;
        arrived.retain(|letter| {
            let newest = &mut senders[letter.host as usize].arrived;
            let is_newer = letter.number > *newest;
            *newest = letter.number.max(*newest);
            is_newer
        });
        arrived.into_iter().map(|letter| (letter.host, letter.report)).collect()
    }
}

#[cfg(test)]
mod tests {
    use plerion_placement::balancer::OwnReport;

    use super::*;

    fn report(at: i64) -> Report {
        Report::Own(OwnReport { at, ..OwnReport::default() })
    }

    fn made_at(report: &Report) -> i64 {
        match report {
            Report::Own(report) => report.at,
            _ => panic!("only own reports are sent here"),
        }
    }

    #[test]
    fn a_tenth_is_lost_and_sent_again_and_nothing_arrives_out_of_order() {
        let mut transport = Transport::new(0.1, 2.0, Chance::new(5));
        let (mut arrived, mut last) = (0, -1);
        for second in 0..1_000_i64 {
            let now = f64::from(i32::try_from(second).unwrap());
            transport.send(0, Some(report(second)), now);
            for (_, report) in transport.arrived(now) {
                assert!(made_at(&report) > last && second - made_at(&report) <= 2);
                last = made_at(&report);
                arrived += 1;
            }
        }
        assert!((500..900).contains(&arrived), "{arrived}: a tenth is lost, some are overtaken");
    }

    #[test]
    fn a_report_that_is_not_repeated_gets_through_all_the_same() {
        let mut transport = Transport::new(0.9, 0.0, Chance::new(5));
        transport.send(3, Some(report(7)), 0.0);
        let arrived = (0..200).any(|second| {
            transport.send(3, None, f64::from(second));
            !transport.arrived(f64::from(second)).is_empty()
        });
        assert!(arrived);
    }
}
