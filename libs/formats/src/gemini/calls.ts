interface OpenCall {
  id: string;
  name: string;
  isInvented: boolean;
  isAnswered: boolean;
}

/**
 * Gives every call of a conversation an id and finds the call of every result. Ids are optional in this
 * dialect: a call without one becomes `call_<n>`, n counting the invented ones from 1, and a result without
 * one belongs to the first unanswered call of its name.
 */
export class CallLedger {
  private readonly calls: OpenCall[] = [];
  private readonly taken: ReadonlySet<string>;
  private invented = 0;

  /** `taken` are the ids that the client wrote itself. */
  constructor(taken: ReadonlySet<string>) {
    this.taken = taken;
  }

  /** The id of the next call. */
  open(id: string | undefined, name: string): string {
    const call = { id: id || this.invent(), name, isInvented: !id, isAnswered: false };
    this.calls.push(call);
    return call.id;
  }

  /** The call that a result answers; one without a call gets an id of its own. */
  answer(id: string | undefined, name: string | undefined): { id: string; name: string | undefined } {
    const call = this.find(id, name);
    if (call) call.isAnswered = true;
    return { id: call?.id ?? (id || this.invent()), name: name ?? call?.name };
  }

  private find(id: string | undefined, name: string | undefined): OpenCall | undefined {
    const waiting = this.calls.filter((call) => !call.isAnswered);
    if (!id) return waiting.find((call) => call.name === name);
    return (
      waiting.find((call) => call.id === id) ??
      this.calls.find((call) => call.id === id) ??
      // The client numbered the result but not the call.
      waiting.find((call) => call.isInvented && call.name === name)
    );
  }

  private invent(): string {
    let id: string;
    do {
      this.invented += 1;
      id = `call_${this.invented}`;
    } while (this.taken.has(id));
    return id;
  }
}
