import type { Gateway } from './gateway.ts';

/** What reads something at rest: how much there is room for, whether a part is up, and the scrape's own socket. */
const standing = /_(slots|up)$|^sluice_open_connections$|_info$/;

/** Every gauge of every process that does not read 0 although nothing is at work, as `series value`. */
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
