import { readdirSync, readFileSync } from 'node:fs';

/** A process that takes part in a measurement. */
export interface Role {
  /** `ingress`, `worker`, `redis`, `proxy`, `other`, `upstream`. */
  readonly role: string;
  readonly pid: number;
  /** Where it serves its metrics; absent if it is not ours. */
  readonly opsPort?: number | undefined;
}

/** CPU time by role, in milliseconds. */
export type CpuByRole = Readonly<Record<string, number>>;

const tickMs = 10;
const pageBytes = 4096;

/** CPU time that each role has used since its processes started, threads included. */
export function readCpu(roles: readonly Role[]): CpuByRole {
  const sums: Record<string, number> = {};
  for (const { role, pid } of roles) sums[role] = (sums[role] ?? 0) + cpuMsOf(pid);
  return sums;
}

/** The CPU time between two readings. */
export function cpuBetween(before: CpuByRole, after: CpuByRole): CpuByRole {
  return Object.fromEntries(Object.entries(after).map(([role, ms]) => [role, ms - (before[role] ?? 0)]));
}

/** CPU time of this process's children that have ended, in milliseconds. */
export function endedChildrenCpuMs(): number {
  const fields = statFields('self');
  return (Number(fields[13]) + Number(fields[14])) * tickMs;
}

/** Resident memory of all processes of a role, in bytes. */
export function readMemory(roles: readonly Role[], role: string): number {
  return roles
    .filter((each) => each.role === role)
    .reduce((sum, { pid }) => {
      const pages = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1];
      return sum + Number(pages) * pageBytes;
    }, 0);
}

/** The living children of a process. */
export function childrenOf(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const lists = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'));
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

/** User and system time of a process, in milliseconds. */
function cpuMsOf(pid: number | 'self'): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** The fields after the process's name, which may itself hold spaces. */
function statFields(pid: number | 'self'): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** CPU time of this very process, in milliseconds. */
export function ownCpuMs(): number {
  return cpuMsOf('self');
}
