import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Announcement, formatForPeople } from './announcement.ts';

const announcement: Announcement = {
  baseUrls: ['http://127.0.0.1:8080', 'http://127.0.0.1:8081'],
  metricsUrls: ['http://127.0.0.1:9464/metrics', 'http://127.0.0.1:9465/metrics'],
  apiKey: 'sk-local',
  models: ['sim'],
  redisUrl: 'redis://127.0.0.1:6379',
  cliEnvironment: {},
  processes: [],
};

/** What a shell would hand to curl, for each of the printed calls. */
function pasted(text: string): string[][] {
  const calls = text.match(/^curl .*\\\n.*\\\n.*$/gm) ?? [];
  return calls.map((call) => {
    const shown = execFileSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${call}`], {
      encoding: 'utf8',
    });
    return shown.trimEnd().split('\n');
  });
}

it("people read what the operator's command needs, in words that any shell takes", () => {
  const cliEnvironment = {
    SLUICE_REDIS_URL: 'unix:///tmp/a b/r.sock',
    SLUICE_KEY_SECRET_FILE: "/it's/secret",
  };
  const line = /^export .*$/m.exec(formatForPeople({ ...announcement, cliEnvironment }))?.[0];
  const set = execFileSync('sh', ['-c', `${line}\nenv`], { encoding: 'utf8', env: {} }).split('\n');
  expect(set).toEqual(expect.arrayContaining(Object.entries(cliEnvironment).map((pair) => pair.join('='))));
});

it('people read no line that sets nothing', () => {
  expect(formatForPeople(announcement)).not.toMatch(/^export/m);
});

it('people read where the API is, where every process is watched, and how to call', () => {
  const text = formatForPeople(announcement);
  expect(text).toContain('Sluice serves sim at http://127.0.0.1:8080 (and http://127.0.0.1:8081)\n');
  expect(text).toContain('Metrics: http://127.0.0.1:9464/metrics (and http://127.0.0.1:9465/metrics)\n');
});

/** The formats in which a model answers at a path, by their titles in the API's document; without a path, all. */
function formatsAt(called?: string): Set<string> {
  // Safe to cast: our own file, which is held to the code.
  const { paths } = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as {
    paths: Record<string, { post?: { tags: string[] } }>;
  };
  const isMeant = (path: string) => called === undefined || path.replace('{model}', 'sim') === called;
  return new Set(
    Object.entries(paths).flatMap(([path, { post }]) => (isMeant(path) ? (post?.tags ?? []) : [])),
  );
}

it('people read a call in every format', () => {
  const urls = pasted(formatForPeople(announcement)).flatMap((words) =>
    words.filter((word) => word.startsWith('http')),
  );
  const shown = urls.flatMap((url) => [...formatsAt(new URL(url).pathname)]);
  expect(shown.toSorted()).toEqual([...formatsAt()].sort());
});

it.each(["Bob's model", 'a (b) "c" \\ $HOME !', '模型'])(
  'a call can be pasted whatever the model is called: %s',
  (model) => {
    const calls = pasted(formatForPeople({ ...announcement, models: ['sim', model] }));
    const bodies = calls.map((words) => JSON.parse(words.at(-1) ?? ''));
    expect(bodies.slice(0, 2).map((body) => body.model)).toEqual([model, model]);
    expect(calls[2]?.[0]).toBe(
      `http://127.0.0.1:8080/v1beta/models/${encodeURIComponent(model).replace(/[!'()]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}:generateContent`,
    );
  },
);
