import type { TestProcess } from '@sluice/testing';
import { servingIn } from '../../support/serving.ts';
import type { ProcessLine } from '../observation.ts';
import { type FaultProxy, startFaultProxy } from './tcp-proxy.ts';

export type Role = 'ingress' | 'worker';

const launchTries = 3;

interface MemberOptions {
  role: Role;
  index: number;
  launch(): Promise<TestProcess>;
  /** The proxy between this process and Redis. */
  redisProxy: FaultProxy;
}

/** One place in the installation: the process there, its successors, and the proxies around them. */
export class Member {
  readonly role: Role;
  readonly index: number;
  readonly redisProxy: FaultProxy;
  /** The proxy between clients and an ingress. Its port stays when the process changes. Absent for workers. */
  readonly clientProxy: FaultProxy | undefined;
  private current: TestProcess;
  private readonly former: TestProcess[] = [];
  private readonly launch: () => Promise<TestProcess>;

  private constructor(options: MemberOptions, first: TestProcess, clientProxy: FaultProxy | undefined) {
    this.role = options.role;
    this.index = options.index;
    this.redisProxy = options.redisProxy;
    this.launch = options.launch;
    this.current = first;
    this.clientProxy = clientProxy;
  }

  static async start(options: MemberOptions): Promise<Member> {
    const first = await options.launch();
    const port = first.ready.port;
    const clientProxy = port === undefined ? undefined : await startFaultProxy(port);
    return new Member(options, first, clientProxy);
  }

  get name(): string {
    return `${this.role} ${this.index}`;
  }

  get process(): TestProcess {
    return this.current;
  }

  /** Every line that this process and its predecessors wrote. */
  get lines(): ProcessLine[] {
    return [...this.former, this.current].flatMap(({ lines }) =>
      lines.map((text) => ({ process: this.name, text })),
    );
  }

  /** Process ids of the living workers under a supervisor, the newest last. */
  workerPids(): number[] {
    return servingIn(this.current.lines).map(({ pid }) => pid);
  }

  /** Ends the process with this signal and starts the next one. Resolves when it serves. */
  async restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ended = this.current;
    if (signal === 'SIGKILL') await ended.kill();
    else await ended.stop();
    this.former.push(ended);
    this.current = await this.launchAgain();
    const { port } = this.current.ready;
    if (port !== undefined) this.clientProxy?.retarget(port);
  }

  /** As an orchestrator does: another fault may take Redis away for longer than a starting process waits. */
  private async launchAgain(): Promise<TestProcess> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.launch();
      } catch (error) {
        if (tries === launchTries) throw error;
      }
    }
  }

  /** The metrics of the process, or of each worker under a supervisor that has reported its port. */
  async metricsTexts(): Promise<string[]> {
    const ports =
      this.role === 'ingress'
        ? [this.current.ready.opsPort]
        : servingIn(this.current.lines).map(({ opsPort }) => opsPort);
    const texts: string[] = [];
    for (const port of ports) {
      const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
      if (response) texts.push(await response.text());
    }
    return texts;
  }

  /** A metric summed over its series and processes. */
  async metric(name: string): Promise<number> {
    let sum = 0;
    for (const text of await this.metricsTexts())
      for (const [series, value] of seriesOf(text))
        if (series === name || series.startsWith(`${name}{`)) sum += value;
    return sum;
  }

  async stop(): Promise<void> {
    // A test may have left the process suspended: then it receives no other signal before SIGCONT.
    this.current.resume();
    await this.current.stop();
    await this.redisProxy.stop();
    await this.clientProxy?.stop();
  }
}

/** Every series of a metrics page with its value. */
export function seriesOf(text: string): [series: string, value: number][] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    });
}
