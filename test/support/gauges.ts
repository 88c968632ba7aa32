import type { Gateway } from './gateway.ts';

/** Gauges that are not 0 at rest: room, whether a part is up or keys are known, information, and the scrape's own connection. */
const standing = /_(slots|up|known)$|^sluice_open_connections$|_info$/;

/** Gauges of all processes that are not 0 although nothing is going on, as `series value`. */
export async function busyGauges({ ingresses, workers }: Gateway): Promise<string[]> {
  const ports = [...ingresses, ...workers].flatMap(({ ready }) =>
    ready.workers ? ready.workers.map(({ opsPort }) => opsPort) : [ready.opsPort],
  );
  const texts = await Promise.all(
    ports.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  );
  return texts.flatMap((text) => {
    const gauges = new Set([...text.matchAll(/^# TYPE (sluice_\w+) gauge$/gm)].map(([, name]) => name));
    return text.split('\n').filter((line) => {
      const name = line.slice(0, line.search(/[ {]/));
      return gauges.has(name) && !standing.test(name) && !line.endsWith(' 0');
    });
  });
}
