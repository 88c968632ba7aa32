import { startFaultProxy } from '../faults/installation/tcp-proxy.ts';

/**
 * A program: a link to a server of this machine that carries only so many bytes per second. Arguments: the port of the
 * server, and the bytes. It is a process of its own for what must not stand still together with its test.
 */
const [target = 0, bytesPerSecond = 0] = process.argv.slice(2).map(Number);
const proxy = await startFaultProxy(target);
await proxy.set({ kind: 'throttle', bytesPerSecond });
process.send?.({ type: 'ready', role: 'proxy', pid: process.pid, port: proxy.port });
process.once('disconnect', () => process.exit());
