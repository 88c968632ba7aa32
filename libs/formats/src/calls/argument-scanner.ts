import { deepestArguments } from './argument-depth.ts';

/** What may come next. */
type Place =
  | 'start'
  | 'first key'
  | 'key'
  | 'colon'
  | 'value'
  | 'first item'
  | 'item'
  | 'next'
  | 'end'
  | 'broken';

const blank = /[ \t\n\r]*/y;
/** Everything but quotes, backslashes and control characters. */
const plainText = /[ !#-[\]-\uffff]*/y;
const wholeEscape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const cutEscape = /\\(?:u[\da-fA-F]{0,3})?$/y;
const word = /[^ \t\n\r"{}[\],:]*/y;
const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
/**
 * Some models put the object into a code fence: the text before the object, a prefix of that text, and the text after
 * the object.
 */
const fence = /^[\s`]*(?:json\s*)?$/;
const fenceSoFar = /^[\s`]*(?:js?o?n?\s*)?$/;
const fenceEnd = /^[\s`]*$/;
/** A prefix of `null`, which some servers write when there are no arguments. */
const nothingSoFar = /^\s*(?:n|nu|nul|null\s*)$/;
/** No number is longer. The limit bounds what is kept and scanned again. */
const longestWord = 1000;

/**
 * Reads the text of a call's arguments as it comes and passes on the prefix of a JSON object, so that everything passed
 * on plus `end` is always a whole object, whatever the model wrote. Text is passed on unchanged, but unambiguous slips
 * are repaired: raw control characters in strings, commas before a closing bracket, a code fence around the object.
 * Only text that may still turn out to be void waits for the value after it: a name, a number, a comma.
 */
export class ArgumentScanner {
  /** Whether all of the text was understood. Text that is cut off counts as understood. */
  isReadable = true;
  /** Whether the text was cut off, so that `end` closed what was open. What is missing cannot be known. */
  isCut = false;
  private place: Place = 'start';
  private inString: 'name' | 'value' | undefined;
  /** What closes the open brackets, the innermost last. */
  private readonly closers: string[] = [];
  /** Text that was read but may only be passed on together with the value after it. */
  private held = '';
  /** An incomplete token at the end of the text so far. */
  private rest = '';
  private said = '';

  /** Takes a fragment of the text. Returns what can be passed on by now. */
  push(fragment: string): string {
    const text = this.rest + fragment;
    this.rest = '';
    let index = 0;
    while (index < text.length) index = this.inString ? this.readString(text, index) : this.read(text, index);
    return this.take();
  }

  /** Nothing more comes. Returns what closes the object, if there is one. Call it once. */
  end(): string {
    if (this.place === 'start') this.isReadable &&= /^\s*(?:null)?\s*$/.test(this.rest);
    this.isCut = this.isReadable && this.closers.length > 0;
    if (this.inString === 'value') this.said += '"';
    else if ((this.place === 'value' || this.isItem) && scalar.test(this.rest)) this.say(this.rest);
    return this.take() + this.closers.reverse().join('');
  }

  private get isItem(): boolean {
    return this.place === 'first item' || this.place === 'item';
  }

  private take(): string {
    const { said } = this;
    this.said = '';
    return said;
  }

  private say(text: string): void {
    this.said += this.held + text;
    this.held = '';
  }

  /** Passes on nothing from here on. Returns the end of the text. */
  private break(text: string): number {
    if (this.inString === 'value') this.said += '"';
    this.place = 'broken';
    this.isReadable = false;
    this.inString = undefined;
    this.held = '';
    return text.length;
  }

  /** Reads a token outside of strings. Returns where it ends. */
  private read(text: string, start: number): number {
    if (this.place === 'broken') return text.length;
    if (this.place === 'start') return this.readStart(text);
    if (this.place === 'end') return this.readEnd(text, start);
    const index = endOf(blank, text, start);
    this.held += text.slice(start, index);
    if (index === text.length) return index;
    const isRead = this.readMark(text[index] ?? '');
    if (isRead === undefined) return this.readWord(text, index);
    return isRead ? index + 1 : this.break(text);
  }

  private readStart(text: string): number {
    const index = text.indexOf('{');
    const lead = index === -1 ? text : text.slice(0, index);
    const isLead = index === -1 ? fenceSoFar.test(lead) || nothingSoFar.test(lead) : fence.test(lead);
    if (lead.length > longestWord || !isLead) return this.break(text);
    if (index === -1) {
      this.rest = text;
      return text.length;
    }
    this.open('}', '{');
    return index + 1;
  }

  /** Any text after the object, other than the end of a fence, makes the arguments unreadable. */
  private readEnd(text: string, start: number): number {
    this.isReadable &&= fenceEnd.test(text.slice(start));
    return text.length;
  }

  /** Reads a character that is a token by itself. False if it must not stand here; absent if it is no such token. */
  private readMark(mark: string): boolean | undefined {
    switch (mark) {
      case '"':
        return this.openString();
      case '{':
      case '[':
        if ((this.place !== 'value' && !this.isItem) || this.closers.length === deepestArguments)
          return false;
        this.open(mark === '{' ? '}' : ']', mark);
        return true;
      case '}':
      case ']':
        return this.close(mark);
      case ',':
        if (this.place !== 'next') return false;
        this.held += mark;
        this.place = this.closers.at(-1) === '}' ? 'key' : 'item';
        return true;
      case ':':
        if (this.place !== 'colon') return false;
        this.held += mark;
        this.place = 'value';
        return true;
      default:
        return undefined;
    }
  }

  private open(closer: string, opener: string): void {
    this.say(opener);
    this.closers.push(closer);
    this.place = closer === '}' ? 'first key' : 'first item';
  }

  private close(closer: string): boolean {
    if (this.closers.at(-1) !== closer || this.place === 'colon' || this.place === 'value') return false;
    // At these places only the preceding comma is held.
    if (this.place === 'key' || this.place === 'item') this.held = '';
    this.say(closer);
    this.closers.pop();
    this.place = this.closers.length === 0 ? 'end' : 'next';
    return true;
  }

  private openString(): boolean {
    if (this.place === 'key' || this.place === 'first key') {
      this.inString = 'name';
      this.held += '"';
      return true;
    }
    if (this.place !== 'value' && !this.isItem) return false;
    this.inString = 'value';
    this.say('"');
    return true;
  }

  /** Reads a part of a string. Returns where it ends. */
  private readString(text: string, start: number): number {
    const index = endOf(plainText, text, start);
    this.add(text.slice(start, index));
    if (index === text.length) return index;
    const char = text[index] ?? '';
    if (char === '"') {
      this.add(char);
      this.place = this.inString === 'name' ? 'colon' : 'next';
      this.inString = undefined;
      return index + 1;
    }
    if (char !== '\\') {
      this.add(JSON.stringify(char).slice(1, -1));
      return index + 1;
    }
    const end = endOf(wholeEscape, text, index);
    if (end > index) {
      this.add(text.slice(index, end));
      return end;
    }
    if (endOf(cutEscape, text, index) === index) return this.break(text);
    this.rest = text.slice(index);
    return text.length;
  }

  private add(text: string): void {
    if (this.inString === 'name') this.held += text;
    else this.said += text;
  }

  /** Reads a number, `true`, `false` or `null`. */
  private readWord(text: string, start: number): number {
    const index = endOf(word, text, start);
    const isPlaced = this.place === 'value' || this.isItem;
    if (!isPlaced || index - start > longestWord) return this.break(text);
    const found = text.slice(start, index);
    if (index === text.length) {
      this.rest = found;
      return index;
    }
    if (!scalar.test(found)) return this.break(text);
    this.say(found);
    this.place = 'next';
    return index;
  }
}

/** The end of what `pattern` matches at exactly this position; the position itself if it does not match. */
function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}
