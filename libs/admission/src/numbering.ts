/** Numbers things from 1, in order of first use, so that a script run gets each once and refers to it by its number. */
export class Numbering<Thing> {
  private readonly numbers = new Map<Thing, number>();

  get things(): Thing[] {
    return [...this.numbers.keys()];
  }

  numberOf(thing: Thing): number {
    const known = this.numbers.get(thing);
    if (known !== undefined) return known;
    const number = this.numbers.size + 1;
    this.numbers.set(thing, number);
    return number;
  }

  /** The numbers of several things, as scripts read them: `2 1`. */
  numbersOf(things: readonly Thing[]): string {
    let numbers = '';
    for (const thing of things) {
      if (numbers !== '') numbers += ' ';
      numbers += this.numberOf(thing);
    }
    return numbers;
  }
}
