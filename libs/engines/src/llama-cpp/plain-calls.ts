import { randomUUID } from 'node:crypto';
import type {
  ChatWrapper,
  ContextState,
  ContextStateOptions,
  ContextValue,
  HistoryItem,
  LlamaLibrary,
  Model,
  ResponseItem,
} from './library.ts';

/**
 * The same way to write chats, except that calls, their results and the declarations of tools are always plain text.
 * Many templates weave them into their own words, where the model's control tokens count: an argument that quotes one
 * would end the model's turn and begin another.
 */
export function keepCallsPlain(wrapper: ChatWrapper, model: Model, library: LlamaLibrary): ChatWrapper {
  const marks = controlTexts(model);
  if (marks.length === 0) return wrapper;
  const inJson = marks.map((mark) => JSON.stringify(mark).slice(1, -1));
  const anyMark = new RegExp(inJson.map((mark) => RegExp.escape(mark)).join('|'), 'g');
  // Letters and digits only, which no template escapes or trims.
  const cover = `mark${randomUUID().replaceAll('-', '')}x`;
  const anyCover = new RegExp(`${cover}(\\d+)x`);

  const uncover = (value: ContextValue): ContextValue[] => {
    const written = typeof value === 'string' ? value : value.value;
    const pieces = written.split(anyCover);
    if (pieces.length === 1) return [value];
    // Every other piece is the number of a mark.
    return pieces.map((piece, index) => {
      if (index % 2 === 1) return marks[Number(piece)] ?? '';
      return typeof value === 'string' ? piece : new library.SpecialTokensText(piece);
    });
  };
  // Called on the object itself, whose settings may differ from those of `wrapper`.
  function generateContextState(this: ChatWrapper, ask: ContextStateOptions): ContextState {
    let isCovering = false;
    const covered = coverCalls(ask, (json) =>
      json.replace(anyMark, (mark) => {
        isCovering = true;
        return `${cover}${inJson.indexOf(mark)}x`;
      }),
    );
    if (!isCovering) return wrapper.generateContextState.call(this, ask);
    const state = wrapper.generateContextState.call(this, covered);
    return { ...state, contextText: new library.LlamaText(...state.contextText.values.flatMap(uncover)) };
  }
  return Object.create(wrapper, { generateContextState: { value: generateContextState } });
}

/** The texts that the model's tokenizer takes for control tokens, longest first. */
function controlTexts(model: Model): string[] {
  const texts: string[] = [];
  for (const token of model.iterateAllTokens()) {
    const { control, unknown } = model.getTokenAttributes(token);
    if (control || unknown) texts.push(model.detokenize([token], true));
  }
  return texts.filter((text) => text !== '').toSorted((one, other) => other.length - one.length);
}

/** `cover` takes JSON and returns it with other words in its strings. */
function coverCalls(
  { chatHistory, availableFunctions, ...rest }: ContextStateOptions,
  cover: (json: string) => string,
): ContextStateOptions {
  const coverAll = <T>(value: T): T => JSON.parse(cover(JSON.stringify(value)));
  const coverCall = (part: ResponseItem): ResponseItem => {
    if (typeof part === 'string' || part.type !== 'functionCall') return part;
    const { name, params, result } = part;
    return { ...part, ...coverAll({ name, params, result }) };
  };
  return {
    ...rest,
    chatHistory: chatHistory.map(
      (item): HistoryItem =>
        item.type === 'model' ? { ...item, response: item.response.map(coverCall) } : item,
    ),
    ...(availableFunctions && { availableFunctions: coverAll(availableFunctions) }),
  };
}
