const words = `
  acorn amber anchor apple april arrow aspen atlas autumn azure badge bamboo banner barley basin beacon
  berry birch bison blade blossom bottle bramble brass breeze bridge bronze brook brush bucket butter cabin
  cactus camel candle canoe canyon carbon carpet castle cedar cello chalk cherry chestnut cinder citrus clay
  cliff cloud clover coast cobalt comet copper coral cotton cradle crane crater creek cricket crimson crystal
  cypress daisy dawn delta desert dew diamond dolphin dragon drift drum dune eagle earth echo elm
  ember emerald evening falcon feather fennel fern ferry field finch fjord flame flax flint flute fog
  forest fossil fountain fox frost galaxy garden garnet gate geyser ginger glacier glade glass gold granite
  grape grass gravel grove gull hammer harbor harp harvest hawk hazel heath heron hill hollow honey
  horizon ice indigo iris iron island ivory ivy jade jasmine jasper jungle juniper kelp kernel kettle
  kite lagoon lake lantern larch lark laurel lava lavender leaf lemon lichen lilac lily linen lotus
  lunar magnet maple marble marsh meadow melon mesa meteor midnight mint mirror mist monsoon moon moss
  mountain myrtle nectar needle nest nettle north nutmeg oak oasis oat ocean olive onyx opal orbit
  orchard orchid osprey otter owl palm paper pearl pebble pepper petal pine planet plum pollen pond
  poppy prairie prism quartz quill quince rain raven reed reef ridge river robin rocket root rose
  ruby rust saddle saffron sage sail salt sand sapphire satin shadow shell shore silk silver sky
  slate smoke snow solar sparrow spice spring spruce star stone storm stream summer summit thistle tide`
  .trim()
  .split(/\s+/);
const spacedWords = words.map((word) => ` ${word}`);

/** What a seed says at a position. Neighbouring seeds and positions have nothing in common. */
function hash(seed: number, position: number): number {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(position + 1, 0xc2b2ae35);
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
  return (state ^ (state >>> 15)) >>> 0;
}

/**
 * The token that the simulated model says at `position` (from 0) for `seed` (32 bits; higher ones are ignored): a
 * lower-case English word, preceded by a space after position 0. A pure function, so that a client, a worker and a
 * checker agree on a text without communicating.
 */
export function referenceToken(seed: number, position: number): string {
  const index = hash(seed, position) & 0xff;
  // Safe to cast: the table has 256 words, one for every index of eight bits.
  return (position === 0 ? words[index] : spacedWords[index]) as string;
}

/** `count` tokens from position `from` on, joined as a stream would join them. */
export function referenceText(seed: number, from: number, count: number): string {
  let text = '';
  for (let position = from; position < from + count; position += 1) text += referenceToken(seed, position);
  return text;
}

/** A 32-bit seed from any text. Only both ends of a long text are read, since a prompt may have megabytes. */
export function seedOf(text: string): number {
  const window = 2048;
  const read = text.length <= 2 * window ? text : text.slice(0, window) + text.slice(-window);
  let state = 0x811c9dc5 ^ text.length;
  for (let index = 0; index < read.length; index += 1)
    state = Math.imul(state ^ read.charCodeAt(index), 0x01000193);
  return state >>> 0;
}
