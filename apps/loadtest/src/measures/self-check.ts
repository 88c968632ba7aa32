import { formatMs } from '../scenario/duration.ts';
import type { LatencyHistogram } from './histogram.ts';
import type { SelfLoad } from './self-watch.ts';

const busyShare = 0.9;
const machineShare = 0.95;
const lateLoopMs = 20;
const lateSendMs = 5;
/** With fewer samples, the 99th percentile is the slowest one, which is usually the first: it found everything cold. */
const samplesOfTail = 100;

/** What the client ran out of, by the system's error code. */
const exhausted: Readonly<Record<string, string>> = {
  EMFILE: 'a process may open no more files (ulimit -n)',
  ENFILE: 'the machine may open no more files',
  EADDRNOTAVAIL: 'no port was left for them',
};

/** What a client knows about itself after a run. */
export interface SelfFacts {
  processes: readonly SelfLoad[];
  sendDelay: LatencyHistogram;
  ttftFromSend: LatencyHistogram;
  endToEndFromSend: LatencyHistogram;
  /** Failed requests by class. */
  errors: Readonly<Record<string, number>>;
  /** The most requests that a process may have in flight; present if one reached it. */
  overrunAt?: number | undefined;
  /** The most connections that a process may open, and how many requests waited for one. Absent: none waited. */
  connections?: { maximum: number; waited: number };
}

/** Tells whether the client was itself the bottleneck, and why; empty findings mean a clean run. */
export function checkSelf(facts: SelfFacts): { isBottleneck: boolean; findings: string[] } {
  const own: string[] = [];
  facts.processes.forEach((load, at) => {
    const name = `client process ${at + 1} of ${facts.processes.length}`;
    if (load.loopShare > busyShare)
      own.push(`${name}: event loop busy ${percent(load.loopShare)} of the time`);
    else if (load.cpuShare > busyShare) own.push(`${name}: used ${percent(load.cpuShare)} of a core`);
    if (load.loopDelayP99Ms > lateLoopMs) {
      own.push(`${name}: event loop late by ${formatMs(load.loopDelayP99Ms)} at the 99th percentile`);
    }
  });
  const hasTail = facts.sendDelay.count >= samplesOfTail;
  const lateMs = facts.sendDelay.percentile(hasTail ? 99 : 50);
  // What a request waits for first: beside a long answer, a late send would seem short, but it is a part of the TTFT.
  const awaited = facts.ttftFromSend.count > 0 ? facts.ttftFromSend : facts.endToEndFromSend;
  if (lateMs > Math.max(lateSendMs, awaited.percentile(50) / 10)) {
    const which = hasTail ? 'at the 99th percentile' : 'at the median';
    const { maximum = 0, waited = 0 } = facts.connections ?? {};
    own.push(
      waited > 0
        ? `${waited} requests waited for one of the ${maximum} connections of a process (--connections)`
        : `requests were sent ${formatMs(lateMs)} after their instant ${which}`,
    );
  }
  if (facts.overrunAt !== undefined) {
    const many = `${facts.overrunAt} requests of a process were in flight`;
    own.push(`the load ended early: ${many}, the most that it bears`);
  }
  for (const [errorClass, count] of Object.entries(facts.errors)) {
    const why = exhausted[errorClass.split(' ').at(-1) ?? ''];
    if (why !== undefined) own.push(`${count} connections were not opened: ${why}`);
  }
  const machine = Math.max(0, ...facts.processes.map((load) => load.machineShare));
  const shared =
    machine > machineShare
      ? [`the whole machine was busy ${percent(machine)}: client and server compete for it`]
      : [];
  return { isBottleneck: own.length > 0, findings: [...own, ...shared] };
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
