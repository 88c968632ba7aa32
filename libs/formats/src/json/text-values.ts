import { countJsonValues, SluiceError } from '@sluice/canonical';

/**
 * How many JSON values one request may bring. A value may be only two bytes, but costs some microseconds and 100 bytes
 * of memory to decode: 8 MB of empty objects blocked a process for 16 s. Even a million tokens of the densest data hold
 * fewer values than this.
 */
export const valueLimit = 200_000;

/**
 * Counts the values in texts of one request that are themselves JSON and will be parsed: to the limits of its body, each
 * of them is a single string. 15 MB of empty objects in the arguments of one call kept a worker so busy that it was
 * taken for dead.
 */
export class TextValues {
  /** Texts that are not counted: together they are too short to hold too many values. */
  private uncounted: string[] = [];
  private characters = 0;
  private values = 0;

  /** Throws `too-large` if the texts so far hold more values than a request may bring. Call it before they are parsed. */
  add(text: string): void {
    this.characters += text.length;
    this.uncounted.push(text);
    if (this.characters <= valueLimit) return;
    for (const each of this.uncounted.splice(0)) this.values += countJsonValues(each);
    if (this.values > valueLimit) {
      const place = 'the arguments and ids of the calls';
      throw new SluiceError('too-large', `${place} hold more than ${valueLimit} JSON values`);
    }
  }
}

/** Whether the text holds more JSON values than a request may bring. */
export function holdsTooMany(text: string): boolean {
  return text.length > valueLimit && countJsonValues(text) > valueLimit;
}
