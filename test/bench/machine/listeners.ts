import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { childrenOf } from './processes.ts';

/** How /proc writes the state of a listening socket. */
const listening = '0A';

/** Processes of this machine that listen at a TCP port, and all that they started; none if /proc does not show them. */
export function findListeners(port: number): number[] {
  const sockets = new Set(listenersAt(port).map((inode) => `socket:[${inode}]`));
  if (sockets.size === 0) return [];
  const holders = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => openFiles(pid).some((file) => sockets.has(file)));
  return [...new Set(holders.flatMap((pid) => [pid, ...descendantsOf(pid)]))];
}

/** Inodes of the sockets that listen at a port, by IPv4 and IPv6. */
function listenersAt(port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => readFileSync(path, 'utf8').split('\n'));
  return lines.flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    return local?.endsWith(suffix) && state === listening && inode !== undefined ? [inode] : [];
  });
}

/** The open files of a process; none if it has ended or belongs to another user. */
function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => readlinkSync(`${folder}/${name}`));
  } catch {
    return [];
  }
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}
