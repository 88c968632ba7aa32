import type { Redis } from 'ioredis';

/**
 * A connection for messages whose receivers nobody counts. Redis is told not to answer them (`CLIENT REPLY OFF`), since
 * each answer is a `write` of Redis, before that to the receiver, and wakes the sender to read nothing new. Where Redis
 * refuses that, or something between us and it, the messages are answered.
 */
export interface QuietLine {
  /** Whether a message would be sent at once. */
  isUp(): boolean;
  /**
   * Publishes without an answer. Lost if the line is not up or far behind, or breaks. Returns the bytes of the text; 0
   * if it is lost already.
   */
  post(channel: string, text: string): number;
  /** Publishes behind all that was posted before. Resolves with the number of receivers; rejects if the line is not up. */
  publish(channel: string, text: string): Promise<number>;
  close(): void;
}

/**
 * How far Redis may be behind before no more is posted to it. What was not posted is asked for again, and kept for that
 * in a room of its own, while all that waits here would fill the memory of the process.
 */
const backlogLimitBytes = 64 * 1024 * 1024;

/** A line emits this on its connection when Redis has taken a message. */
export const messageTaken = 'message-taken';

const off = '*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n';

/** The error of ioredis for an answer to a command that it has not sent. */
const isUnasked = ({ message }: Error): boolean => message.startsWith('Command queue state error');

/** Makes a line of a connection of the `quiet` profile, which is used for nothing else and closed with it. */
export function createQuietLine(client: Redis): QuietLine {
  let isQuiet = false;
  /** Whether answers came all the same. */
  let isIgnored = false;
  const isUp = (): boolean => client.status === 'ready' && client.stream.writable;
  // Written past ioredis, which would wait for the answer.
  const write = (text: string): void => void client.stream.write(text);
  const silence = (): void => {
    write(off);
    isQuiet = true;
  };
  const ask = (channel: string, text: string): Promise<number> => {
    const published = client.publish(channel, text);
    published.then(
      () => client.emit(messageTaken),
      () => undefined,
    );
    return published;
  };
  const begin = (): void => {
    const { stream } = client;
    // Shows whether we may say this at all. Whoever may not keeps an answered line.
    client.call('client', 'reply', 'on').then(
      () => {
        if (stream === client.stream && isUp() && !isIgnored) silence();
      },
      () => undefined,
    );
  };
  if (client.status === 'ready') begin();
  client.on('ready', begin);
  client.on('close', () => {
    isQuiet = false;
  });
  client.on('error', (error: Error) => {
    if (!isQuiet || !isUnasked(error)) return;
    isIgnored = true;
    client.disconnect(true);
  });
  return {
    isUp,
    post: (channel, text) => {
      if (!isUp() || client.stream.writableLength > backlogLimitBytes) return 0;
      const bytes = Buffer.byteLength(text);
      if (isQuiet) write(encodePublish(channel, text, bytes));
      else ask(channel, text).catch(() => undefined);
      return bytes;
    },
    publish: (channel, text) => {
      if (!isQuiet || !isUp()) return ask(channel, text);
      client.call('client', 'reply', 'on').catch(() => undefined);
      const published = ask(channel, text);
      silence();
      return published;
    },
    close: () => client.disconnect(),
  };
}

function encodePublish(channel: string, text: string, bytes: number): string {
  const channelBytes = Buffer.byteLength(channel);
  return `*3\r\n$7\r\nPUBLISH\r\n$${channelBytes}\r\n${channel}\r\n$${bytes}\r\n${text}\r\n`;
}
