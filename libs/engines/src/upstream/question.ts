import type { InferenceRequest } from '@sluice/canonical';
import type { GenerationRun } from '../engine.ts';
import { lost } from '../lost.ts';
import { type Continuation, continueAnswer } from './continuation.ts';
import type { UpstreamOptions } from './options.ts';
import { limitOutput } from './output-limit.ts';
import { shareStops } from './stop-strings.ts';

/** What a server is asked, and what is our part of the answer. */
export interface Question extends Continuation {
  /** The stop strings that the server is not told. */
  stops: readonly string[];
}

/** Throws `upstream-failed` for a lost answer that can't go on. */
export function planQuestion(
  request: InferenceRequest,
  run: GenerationRun,
  { dialect, resume: ability }: UpstreamOptions,
): Question {
  const { resume } = run;
  const limited = limitOutput(request, run, dialect);
  if (!resume || resume.content.length === 0) return shareStops(limited, dialect);
  if (ability !== 'prefix') throw lost();
  const continuation = continueAnswer(limited, resume, dialect);
  return { ...continuation, ...shareStops(continuation.request, dialect) };
}
