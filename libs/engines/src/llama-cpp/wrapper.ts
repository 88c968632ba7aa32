import type { ReasoningEffort } from '@sluice/canonical';
import type { ChatWrapper, ContextState, ContextStateOptions, HistoryItem } from './library.ts';

const efforts = {
  none: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
} as const satisfies Record<ReasoningEffort, ChatWrapper['reasoningEffort']>;

/** The wrapper with this thinking effort; the wrapper itself if its chats do not express one. */
export function withEffort(wrapper: ChatWrapper, effort: ReasoningEffort | undefined): ChatWrapper {
  if (effort === undefined || wrapper.reasoningEffort === undefined) return wrapper;
  return Object.create(wrapper, { reasoningEffort: { value: efforts[effort] } });
}

/** How the model's chats are written for an answer to this history. */
export function wrapperFor(
  wrapper: ChatWrapper,
  history: readonly HistoryItem[],
  isForced: boolean,
): ChatWrapper {
  if (isForced) return changing(wrapper, beginWithCall);
  return isAmidText(history) ? changing(wrapper, keepBeginning) : wrapper;
}

/** Makes the answer begin with a call. */
function beginWithCall({ contextText, stopGenerationTriggers }: ContextState): ContextState {
  const functionCall = { initiallyEngaged: true, disengageInitiallyEngaged: [] };
  return { contextText, stopGenerationTriggers, functionCall };
}

/** Blanks at the start of an answer are not part of it, but where it continues, they are. */
function keepBeginning(state: ContextState): ContextState {
  return { ...state, ignoreStartText: [] };
}

function changing(wrapper: ChatWrapper, change: (state: ContextState) => ContextState): ChatWrapper {
  return Object.create(wrapper, {
    generateContextState: { value: (ask: ContextStateOptions) => change(wrapper.generateContextState(ask)) },
  });
}

function isAmidText(history: readonly HistoryItem[]): boolean {
  const last = history.at(-1);
  const part = last?.type === 'model' ? last.response.at(-1) : undefined;
  return typeof part === 'string' || (part?.type === 'segment' && !part.ended);
}
