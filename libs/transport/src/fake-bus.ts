import type { Bus } from './bus.ts';

/** A bus within the process. Messages arrive at once, and the test decides who is subscribed. */
export class FakeBus implements Bus {
  readonly published: { channel: string; text: string }[] = [];
  /** What `publish` resolves with; absent means the real number of subscribers. */
  receivers: number | undefined;
  isConnected = true;
  /** Whether the connection breaks before the answer to a message. */
  isBreaking = false;
  private readonly listeners = new Map<string, (text: string) => void>();

  readonly publish = async (channel: string, text: string): Promise<number> => {
    this.published.push({ channel, text });
    if (this.isBreaking) throw new Error('the connection broke');
    const listener = this.listeners.get(channel);
    listener?.(text);
    return this.receivers ?? (listener ? 1 : 0);
  };

  readonly post = (channel: string, text: string): number => {
    this.publish(channel, text).catch(() => undefined);
    return Buffer.byteLength(text);
  };

  readonly subscribe = async (channel: string, listener: (text: string) => void): Promise<void> => {
    this.listeners.set(channel, listener);
  };

  leave(channel: string): void {
    this.listeners.delete(channel);
  }

  readonly onResubscribed = (): void => undefined;
  readonly isUp = (): boolean => this.isConnected;
  readonly isReached = this.isUp;
  readonly canPublish = (): boolean => this.isConnected;
}
