/** Numbers what a run of a script is sent once and names often, from 1, in the order in which it is first named. */
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

  /** As a script reads them: `2 1`. */
  numbersOf(things: readonly Thing[]): string {
    let numbers = '';
    for (const thing of things) {
      if (numbers !== '') numbers += ' ';
      numbers += this.numberOf(thing);
    }
    return numbers;
  }
}
