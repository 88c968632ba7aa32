import type { JsonObject } from '@sluice/canonical';

/** What is known of a dialect's servers besides its words. The engine makes up for what they refuse or cannot do. */
export interface ServerTraits {
  /** Where they list their models, relative to the base address. A server that answers there is alive. */
  readonly modelList: string;
  /**
   * How they continue a last message of the assistant: without being asked, or if these body fields ask for it. Absent:
   * they cannot; they answer it.
   */
  readonly continuation?: { readonly isUnasked: boolean; readonly flags: JsonObject };
  /** Whether they refuse a request without an output limit. */
  readonly demandOutputLimit: boolean;
  /**
   * Whether a delta of their streams is one token, unless it is longer than any token. Otherwise a delta may hold
   * several, which only its length tells.
   */
  readonly sayTokenByToken: boolean;
  /**
   * The stop strings that they accept; `model` is its name at the server. `areRefused` tells whether a server says that
   * it takes none at all. Absent: every server takes some.
   */
  readonly stopStrings: {
    readonly most: number;
    takes(stop: string, model: string): boolean;
    areRefused?(refusal: string): boolean;
  };
  /** The tool names that they accept. */
  readonly toolName: RegExp;
  /**
   * Rewrites a request for a server that refused it with these words, if another way to say it may be accepted. For a
   * client of another format (`isForeign`), the rewrite may drop a wish. `isContinuation`: the last turn begins the
   * answer, whose rest is asked for, so it stays the last; absent means false. Absent: the dialect has only one way to
   * say everything.
   */
  rephrase?(
    body: JsonObject,
    refusal: string,
    isForeign: boolean,
    isContinuation?: boolean,
  ): JsonObject | undefined;
  /**
   * Rewrites a request for a server that refused what is true of this conversation alone, as thoughts are that another
   * server signed. Such a refusal is not remembered. Absent: they refuse nothing of the kind.
   */
  amend?(body: JsonObject, refusal: string): JsonObject | undefined;
}
