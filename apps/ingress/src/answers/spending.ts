import {
  nothingSpent,
  type StartEvent,
  type TerminalEvent,
  type Usage,
  usageAtStart,
} from '@sluice/canonical';

/** What the answers to one request have cost. */
export class Spending {
  private readonly choices: number;
  private hasBegun = false;
  private prompt: Usage | undefined;
  private reported: Reported | undefined;
  /** Delivered tokens of the answers that have ended with a report, or without an error. */
  private reportedTokens = 0;

  constructor(choices: number) {
    this.choices = choices;
  }

  /** An answer begins. Some engines know by then what its prompt has cost, which all answers share. */
  began(start: StartEvent): void {
    this.hasBegun = true;
    this.prompt ??= usageAtStart(start);
  }

  /** An answer has ended, of which so many tokens were delivered. */
  ended(last: TerminalEvent, outputTokens: number): void {
    const usage = this.reportOf(last, outputTokens);
    if (!usage) return;
    this.reported = addUsage(this.reported, { outputTokens, ...usage });
    this.reportedTokens += outputTokens;
  }

  /**
   * What was reported, and what was delivered of the answers that report nothing. Tokens of a prompt of which nobody
   * spoke are absent: the ticket's own rule fills the gap.
   */
  total(deliveredTokens: number, hasRun: boolean): Usage {
    const { prompt, reported } = this;
    if (!reported) return hasRun ? { ...prompt, outputTokens: deliveredTokens } : nothingSpent;
    const outputTokens = reported.outputTokens + deliveredTokens - this.reportedTokens;
    return { ...prompt, ...reported, outputTokens };
  }

  /** What an answer says that it has cost; absent where nobody knows. */
  private reportOf(last: TerminalEvent, outputTokens: number): Usage | undefined {
    if (last.type === 'finish') return last.usage;
    // A failed run knows nothing of what a run before it had said, and of other answers to the same prompt: unless none
    // had begun, since what refuses one of them refuses them all.
    const isAlone = this.choices === 1 || !this.hasBegun;
    const isAll = isAlone && (last.usage?.outputTokens ?? 0) >= outputTokens;
    return isAll ? last.usage : undefined;
  }
}

type Reported = Usage & { outputTokens: number };

/** Several answers to one prompt: their output adds up, the prompt is counted once. */
function addUsage(sum: Reported | undefined, next: Reported): Reported {
  if (!sum) return next;
  return {
    ...sum,
    outputTokens: sum.outputTokens + next.outputTokens,
    ...(next.reasoningTokens !== undefined && {
      reasoningTokens: (sum.reasoningTokens ?? 0) + next.reasoningTokens,
    }),
  };
}
