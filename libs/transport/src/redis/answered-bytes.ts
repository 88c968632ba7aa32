import { Command, type Redis } from 'ioredis';

/** All that had been written when a command was the last one that waited: answered with that command. */
interface Mark {
  command: Command;
  written: number;
  isAnswered: boolean;
}

/**
 * Knows how many of the bytes that were written to a connection Redis has certainly answered. What it says may answer a
 * command from long before, so it counts only what stands in front of an answered command.
 */
export class AnsweredBytes {
  count = 0;
  private marks: Mark[] = [];

  /** Begins anew, for another connection. */
  reset(): void {
    this.count = 0;
    this.marks = [];
  }

  /** Looks at what waits, `written` bytes after the connection was made. Call it now and then: it is exact to that. */
  look(waiting: Redis['commandQueue'], written: number): void {
    const last = waiting.peekBack();
    if (!last) {
      this.count = written;
      this.marks = [];
      return;
    }
    for (let [mark] = this.marks; mark?.isAnswered; [mark] = this.marks) {
      this.count = mark.written;
      this.marks.shift();
    }
    const { command } = last;
    if (!(command instanceof Command) || this.marks.at(-1)?.command === command) return;
    const mark: Mark = { command, written, isAnswered: false };
    this.marks.push(mark);
    const answer = (): void => {
      mark.isAnswered = true;
    };
    // An error is an answer, too.
    command.promise.then(answer, answer);
  }
}
