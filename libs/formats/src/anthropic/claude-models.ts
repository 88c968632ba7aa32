/**
 * How the makers' own models take a wish to think: up to 4.5 as a budget of tokens, from 4.7 on as an effort with
 * `adaptive` thinking (they take no sampling settings either), between them and anywhere else both.
 */
export type ThinkingForm = 'budget' | 'either' | 'adaptive';

const budgetOnly = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:[-@]\d{8})?(?:-v\d.*)?$)/;
const adaptiveOnly = /claude-[a-z]+-(?:4-(?:[7-9]|\d\d)|[5-9]|\d\d)(?![\d])/;

/** The only ones that know efforts, but none between high and max. */
const withoutXhigh = /claude-(?:opus|sonnet)-4-6(?!\d)/;

/** By the name of the model at its server; other makers' models that speak the dialect are not judged. */
export function thinkingFormOf(model: string): ThinkingForm {
  const name = dashed(model);
  if (budgetOnly.test(name)) return 'budget';
  return adaptiveOnly.test(name) ? 'adaptive' : 'either';
}

/** Whether the model knows the effort `xhigh`; asked of models that know efforts. */
export function knowsXhigh(model: string): boolean {
  return !withoutXhigh.test(dashed(model));
}

/** Whether the model thinks in any case, and refuses to be told not to. */
export function alwaysThinks(model: string): boolean {
  return /claude-(?:fable|mythos)/.test(model);
}

/** Routers write versions with a dot. */
function dashed(model: string): string {
  return model.replaceAll('.', '-');
}

/** Whether the model is one of the makers', who refuse settings that do not go together. */
export function isClaude(model: string): boolean {
  return model.includes('claude');
}
