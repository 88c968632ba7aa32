interface OpenCall {
  id: string;
  name: string;
  isInvented: boolean;
  isAnswered: boolean;
}

/** Calls with the same id or name, in order. A conversation may hold many thousands, so none is looked at twice. */
class CallsAlike {
  readonly first: OpenCall;
  private readonly calls: OpenCall[] = [];
  /** All calls before this one have been answered. */
  private next = 0;

  constructor(first: OpenCall) {
    this.first = first;
  }

  add(call: OpenCall): void {
    this.calls.push(call);
  }

  /** The first call that has no answer yet. */
  waiting(): OpenCall | undefined {
    while (this.calls[this.next]?.isAnswered) this.next += 1;
    return this.calls[this.next];
  }
}

function file(calls: Map<string, CallsAlike>, key: string, call: OpenCall): void {
  const alike = calls.get(key) ?? new CallsAlike(call);
  alike.add(call);
  calls.set(key, alike);
}

/**
 * Gives every call of a conversation an id and finds the call of every result. Ids are optional in this dialect: a call
 * without one becomes `call_<n>`, where n counts these calls from 1. A result without an id belongs to the first
 * unanswered call of its name.
 */
export class CallLedger {
  private readonly byId = new Map<string, CallsAlike>();
  private readonly byName = new Map<string, CallsAlike>();
  private readonly inventedByName = new Map<string, CallsAlike>();
  private readonly taken: ReadonlySet<string>;
  private invented = 0;

  /** `taken` are the ids that the client itself wrote. */
  constructor(taken: ReadonlySet<string>) {
    this.taken = taken;
  }

  /** Returns the id of the next call. */
  open(id: string | undefined, name: string): string {
    const call = { id: id || this.invent(), name, isInvented: !id, isAnswered: false };
    file(this.byId, call.id, call);
    file(this.byName, name, call);
    if (call.isInvented) file(this.inventedByName, name, call);
    return call.id;
  }

  /** Finds the call that a result answers. A result without a call gets an id of its own. */
  answer(id: string | undefined, name: string | undefined): { id: string; name: string | undefined } {
    const call = this.find(id, name);
    if (call) call.isAnswered = true;
    return { id: call?.id ?? (id || this.invent()), name: name ?? call?.name };
  }

  /** Whether each call with this id has its result; false if there is none. */
  isAnswered(id: string): boolean {
    const meant = this.byId.get(id);
    return meant !== undefined && meant.waiting() === undefined;
  }

  private find(id: string | undefined, name: string | undefined): OpenCall | undefined {
    if (!id) return this.byName.get(name ?? '')?.waiting();
    const meant = this.byId.get(id);
    // Maybe the client gave the result an id but not the call.
    return meant?.waiting() ?? meant?.first ?? this.inventedByName.get(name ?? '')?.waiting();
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
