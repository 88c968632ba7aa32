import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@sluice/testing';
import type { Installation } from '../installation/installation.ts';
import type { Member, Role } from '../installation/member.ts';
import type { Random } from '../random.ts';
import type { FaultKind } from './fault-kind.ts';

type Deed = (member: Member, random: Random) => Promise<void>;

/** How long a SIGSTOP lasts: sometimes shorter and sometimes longer than each silence limit. */
const suspension = (random: Random): number => random.between(200, 6_000);

const deeds: readonly { name: string; role: Role; deed: Deed }[] = [
  { name: 'worker killed', role: 'worker', deed: killWorkerProcess },
  { name: 'worker killed with its supervisor', role: 'worker', deed: killHost },
  { name: 'worker suspended', role: 'worker', deed: suspendWorkerProcess },
  { name: 'worker terminated', role: 'worker', deed: (member) => member.restart('SIGTERM') },
  { name: 'ingress killed', role: 'ingress', deed: (member) => member.restart('SIGKILL') },
  { name: 'ingress terminated', role: 'ingress', deed: (member) => member.restart('SIGTERM') },
  { name: 'ingress suspended', role: 'ingress', deed: suspendIngress },
];

/** SIGKILL, SIGSTOP and SIGTERM of every kind of process. */
export const processFaults: readonly FaultKind[] = deeds.map(({ name, role, deed }) => ({
  name,
  target: (installation, random) => random.pick(membersOf(installation, role)).name,
  inflict: async (installation, target, random) => {
    const member = membersOf(installation, role).find((each) => each.name === target);
    if (member) await deed(member, random);
  },
}));

function membersOf(installation: Installation, role: Role): Member[] {
  return role === 'ingress' ? installation.ingresses : installation.workers;
}

/** Kills one worker process. Its supervisor lives, reports the death and starts the next one. */
async function killWorkerProcess(member: Member, random: Random): Promise<void> {
  const pids = member.workerPids();
  if (pids.length === 0) return;
  const pid = random.pick(pids);
  process.kill(pid, 'SIGKILL');
  await until(
    () => {
      const now = member.workerPids();
      return now.length >= pids.length && !now.includes(pid);
    },
    { timeoutMs: 60_000, what: 'the supervisor to start the next worker' },
  );
}

/** Kills a supervisor and all its workers, so that nobody is left to report the deaths. */
export async function killHost(member: Member): Promise<void> {
  const pids = member.workerPids();
  const restarted = member.restart('SIGKILL');
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await restarted;
}

async function suspendWorkerProcess(member: Member, random: Random): Promise<void> {
  const pids = member.workerPids();
  if (pids.length === 0) return;
  const pid = random.pick(pids);
  process.kill(pid, 'SIGSTOP');
  await sleep(suspension(random));
  process.kill(pid, 'SIGCONT');
}

async function suspendIngress({ process: ingress }: Member, random: Random): Promise<void> {
  ingress.suspend();
  await sleep(suspension(random));
  ingress.resume();
}
