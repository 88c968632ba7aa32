import {
  nothingSpent,
  type StartEvent,
  type TerminalEvent,
  type Usage,
  usageAtStart,
} from '@sluice/canonical';

/** Adds up the tokens that the answers to one request have cost. */
export class Spending {
  private readonly choices: number;
  private hasBegun = false;
  private prompt: Usage | undefined;
  private reported: Reported | undefined;
  /** Delivered tokens of the answers whose usage is in `reported`. */
  private reportedTokens = 0;

  constructor(choices: number) {
    this.choices = choices;
  }

  /** An answer begins. Some engines already report the cost of the prompt here, which all answers share. */
  began(start: StartEvent): void {
    this.hasBegun = true;
    this.prompt ??= usageAtStart(start);
  }

  /**
   * An answer has ended after `outputTokens` delivered tokens. `told`: what its worker had reported of the whole of it
   * before; absent if it had not.
   */
  ended(last: TerminalEvent, outputTokens: number, told?: Usage): void {
    const usage = this.reportOf(last, outputTokens) ?? told;
    if (usage) this.add(usage, outputTokens);
  }

  /** The whole of an answer has cost this, whether or not more than `outputTokens` of it were delivered. */
  add(usage: Usage, outputTokens: number): void {
    this.reported = addUsage(this.reported, { outputTokens, ...usage });
    this.reportedTokens += outputTokens;
  }

  /**
   * The reported usage, plus the delivered tokens of the answers without a report. If no engine reported the prompt's
   * tokens they are absent, and the ticket charges its estimate.
   */
  total(deliveredTokens: number, hasRun: boolean): Usage {
    const { prompt, reported } = this;
    if (!reported) return hasRun ? { ...prompt, outputTokens: deliveredTokens } : nothingSpent;
    const outputTokens = reported.outputTokens + deliveredTokens - this.reportedTokens;
    return { ...prompt, ...reported, outputTokens };
  }

  /** The usage that an answer reports; absent if it is not known for the whole answer. */
  private reportOf(last: TerminalEvent, outputTokens: number): Usage | undefined {
    if (last.type === 'finish') return last.usage;
    // The report of a failed run does not cover earlier attempts, nor the other answers to the same prompt. If none has
    // begun, it does cover the others, because a refusal of one is a refusal of all.
    const coversAllChoices = this.choices === 1 || !this.hasBegun;
    const coversAllAttempts = (last.usage?.outputTokens ?? 0) >= outputTokens;
    return coversAllChoices && coversAllAttempts ? last.usage : undefined;
  }
}

type Reported = Usage & { outputTokens: number };

/** Adds the usage of another answer to the same prompt: the outputs add up, the prompt counts once. */
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
