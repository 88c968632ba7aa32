import { type Tensor, writeGguf } from './gguf.ts';

/** Size of the vocabulary. The embedding has the same size, since every token is a direction of its own. */
const size = 512;
const feedForward = 32;
const headSize = 64;
/** How much likelier the next piece is than any other, as a logit. */
const certainty = 20;
/** The format's numbers for kinds of tokens. */
const kinds = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 } as const;
const startOfTurn = '<|im_start|>';
/** The piece that ends an answer. */
export const endOfTurn = '<|im_end|>';
const chatMl = [
  `{% for message in messages %}{{'${startOfTurn}' + message['role'] + '\n' + message['content'] + '${endOfTurn}' + '\n'}}{% endfor %}`,
  `{% if add_generation_prompt %}{{ '${startOfTurn}assistant\n' }}{% endif %}`,
].join('');

/**
 * Writes a real model of 4.5 MB that always says the same pieces, one token each: its weights lead from the end of the
 * prompt to the first piece and from each piece to the next. All pieces must differ, except that the last may equal an
 * earlier one, and then the model loops for ever. The answer ends at `endOfTurn`. Chats are formatted by the Jinja
 * template, ChatML by default. The model's training context is 2048 tokens.
 */
export function writeTinyModel(path: string, says: readonly string[], template = chatMl): void {
  const vocabulary = new Vocabulary();
  const next = new Map<number, number>();
  let previous = vocabulary.byte('\n');
  for (const piece of says) {
    const token = vocabulary.add(piece);
    if (next.has(previous)) throw new Error('the model would say the same piece twice');
    next.set(previous, token);
    previous = token;
  }
  const { texts, types } = vocabulary.fill();
  writeGguf(
    path,
    {
      'general.architecture': { type: 'string', value: 'llama' },
      'general.name': { type: 'string', value: 'tiny' },
      'llama.block_count': { type: 'u32', value: 1 },
      'llama.context_length': { type: 'u32', value: 2048 },
      'llama.embedding_length': { type: 'u32', value: size },
      'llama.feed_forward_length': { type: 'u32', value: feedForward },
      'llama.attention.head_count': { type: 'u32', value: size / headSize },
      'llama.attention.head_count_kv': { type: 'u32', value: 1 },
      'llama.attention.layer_norm_rms_epsilon': { type: 'f32', value: 1e-5 },
      'llama.rope.dimension_count': { type: 'u32', value: headSize },
      'llama.vocab_size': { type: 'u32', value: size },
      'tokenizer.ggml.model': { type: 'string', value: 'llama' },
      'tokenizer.ggml.tokens': { type: 'array', of: 'string', values: texts },
      'tokenizer.ggml.scores': { type: 'array', of: 'f32', values: texts.map(() => 0) },
      'tokenizer.ggml.token_type': { type: 'array', of: 'i32', values: types },
      'tokenizer.ggml.unknown_token_id': { type: 'u32', value: 0 },
      'tokenizer.ggml.bos_token_id': { type: 'u32', value: 1 },
      'tokenizer.ggml.eos_token_id': { type: 'u32', value: texts.indexOf(endOfTurn) },
      'tokenizer.ggml.add_bos_token': { type: 'bool', value: true },
      'tokenizer.ggml.add_space_prefix': { type: 'bool', value: false },
      'tokenizer.chat_template': { type: 'string', value: template },
    },
    weights(next),
  );
}

class Vocabulary {
  private readonly texts: string[] = [];
  private readonly types: number[] = [];

  constructor() {
    this.push('<unk>', kinds.unknown);
    this.push('<s>', kinds.control);
    for (let byte = 0; byte < 256; byte++) {
      this.push(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, kinds.byte);
    }
    // A space in this kind of vocabulary.
    this.push('▁', kinds.normal);
    this.push(startOfTurn, kinds.control);
    this.push(endOfTurn, kinds.control);
  }

  add(piece: string): number {
    const known = this.texts.indexOf(piece);
    if (known >= 0) return known;
    return piece.length === 1 ? this.byte(piece) : this.push(piece, kinds.user);
  }

  byte(character: string): number {
    const hex = character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
    return this.texts.indexOf(`<0x${hex}>`);
  }

  fill(): { texts: string[]; types: number[] } {
    if (this.texts.length > size) throw new Error(`a tiny model has at most ${size} tokens`);
    while (this.texts.length < size) this.push(`<unused ${this.texts.length}>`, kinds.unused);
    return { texts: this.texts, types: this.types };
  }

  private push(text: string, type: number): number {
    this.types.push(type);
    return this.texts.push(text) - 1;
  }
}

/** One block whose attention and feed-forward add nothing, so that the output depends on the last token alone. */
function weights(next: ReadonlyMap<number, number>): Record<string, Tensor> {
  const embedding = new Float32Array(size * size);
  for (let token = 0; token < size; token++) embedding[token * size + token] = 1;
  const output = new Float32Array(size * size);
  // The norm before this layer scales a one-hot vector to the square root of its size.
  for (const [token, following] of next) output[following * size + token] = certainty / Math.sqrt(size);
  return {
    'token_embd.weight': { dimensions: [size, size], values: embedding },
    'output.weight': { dimensions: [size, size], values: output },
    'output_norm.weight': ones(size),
    'blk.0.attn_norm.weight': ones(size),
    'blk.0.attn_q.weight': zeros(size, size),
    'blk.0.attn_k.weight': zeros(size, headSize),
    'blk.0.attn_v.weight': zeros(size, headSize),
    'blk.0.attn_output.weight': zeros(size, size),
    'blk.0.ffn_norm.weight': ones(size),
    'blk.0.ffn_gate.weight': zeros(size, feedForward),
    'blk.0.ffn_up.weight': zeros(size, feedForward),
    'blk.0.ffn_down.weight': zeros(feedForward, size),
  };
}

function ones(length: number): Tensor {
  return { dimensions: [length], values: new Float32Array(length).fill(1) };
}

function zeros(...dimensions: number[]): Tensor {
  return { dimensions, values: new Float32Array(dimensions.reduce((product, each) => product * each)) };
}
