import { Command } from 'ioredis';

/** The parts of a command of ioredis 6.0.0 that its promise is made with. */
interface CommandParts {
  name: string;
  args: unknown[];
  transformed: boolean;
  isResolved: boolean;
  isSettled: boolean;
  callback: unknown;
  errorStack: unknown;
  promise: Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  initPromise(): void;
  stringifyArguments(): void;
  _convertValue(resolve: (value: unknown) => void): (value: unknown) => void;
  _clearTimers(): void;
}

type Transformer = (args: unknown[]) => unknown[];

/**
 * Lets the memory of a command be freed soon after its reply. ioredis assigns a function literal to `this.reject`, and
 * V8 allocates a literal that is assigned to a property as old, since in most programs it is a method. As only a full
 * collection frees what is old, every command with its arguments and its reply was copied twice and kept until then.
 * This is `Command.initPromise` of ioredis with a name for that function. Safe to call more than once.
 */
export function shortenCommandLives(): void {
  // These members are private to the types of ioredis; short-lived-commands.test.ts goes red if they change.
  const { prototype, _transformer: transformers } = Command as unknown as {
    prototype: CommandParts & { initPromise: { isShort?: true } };
    _transformer: { argument: Record<string, Transformer | undefined> };
  };
  const initPromise = prototype.initPromise;
  if (initPromise.isShort) return;
  const initShortPromise = function initShortPromise(this: CommandParts): void {
    if (this.callback !== undefined || this.errorStack !== undefined) {
      initPromise.call(this);
      return;
    }
    this.isResolved = false;
    this.isSettled = false;
    this.promise = new Promise((resolve, reject) => {
      if (!this.transformed) {
        this.transformed = true;
        this.args = transformers.argument[this.name]?.(this.args) ?? this.args;
        this.stringifyArguments();
      }
      const fail = (error: unknown): void => {
        this._clearTimers();
        this.isSettled = true;
        reject(error);
      };
      this.resolve = this._convertValue(resolve);
      this.reject = fail;
    });
  };
  prototype.initPromise = Object.assign(initShortPromise, { isShort: true as const });
}
