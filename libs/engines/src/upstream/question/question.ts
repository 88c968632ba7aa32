import type { InferenceRequest } from '@sluice/canonical';
import { isForeign, type ServerTraits } from '@sluice/formats';
import type { GenerationRun } from '../../engine.ts';
import { lost } from '../../lost.ts';
import type { UpstreamOptions } from '../options.ts';
import { type Continuation, continueAnswer, continuePrefill } from './continuation.ts';
import { limitOutput } from './output-limit.ts';
import { shareStops } from './stop-strings.ts';
import { type FittedNames, fitToolNames } from './tool-names.ts';

/** What a server is asked, and what we do with its answer. */
export interface Question extends Continuation {
  /** The stop strings that the server is not told. */
  stops: readonly string[];
  /** The refusals after which the question is rephrased. Absent: those that are known for the model. */
  refusals?: readonly string[];
  /** The refusals of what only this conversation holds, after which it is amended. Absent: none. */
  amended?: readonly string[];
}

/**
 * Throws `upstream-failed` for a lost answer that cannot be continued, and `invalid-request` for one that the client
 * began and that cannot be continued.
 */
export function planQuestion(
  request: InferenceRequest,
  run: GenerationRun,
  { resume: ability, dialect }: UpstreamOptions,
  servers: ServerTraits,
): Question {
  const { resume } = run;
  const limited = limitOutput(request, run, servers);
  const hasBegun = resume !== undefined && resume.content.length > 0;
  if (hasBegun && ability !== 'prefix') throw lost();
  const continuation = hasBegun
    ? continueAnswer(limited, resume, servers)
    : continuePrefill(limited, servers, ability);
  const { request: asked, stops } = shareStops(continuation.request, servers, run.backendModel);
  const named: FittedNames = isForeign(run, dialect) ? fitToolNames(asked, servers) : { request: asked };
  const translate = inTurn(named.restore, continuation.translate);
  return { ...continuation, request: named.request, stops, ...(translate && { translate }) };
}

/** Where the events of the answer go: to the run, in the form that the whole answer would have had. */
export function translated({ translate }: Question, run: GenerationRun): GenerationRun['emit'] {
  return translate ? (event) => run.emit(translate(event)) : run.emit;
}

type Translate = NonNullable<Continuation['translate']>;

function inTurn(first: Translate | undefined, second: Translate | undefined): Translate | undefined {
  return first && second ? (event) => second(first(event)) : (first ?? second);
}
