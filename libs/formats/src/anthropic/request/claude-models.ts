/**
 * How a model accepts a wish to think. Claude up to 4.5 takes a budget of tokens; from 4.7 on it takes an effort with
 * `adaptive` thinking (and no sampling settings). The versions between, and all other models, take either.
 */
export type ThinkingForm = 'budget' | 'either' | 'adaptive';

const budgetOnly = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:[-@]\d{8})?(?:-v\d.*)?$)/;
const adaptiveOnly = /claude-[a-z]+-(?:4-(?:[7-9]|\d\d)|[5-9]|\d\d)(?![\d])/;

/** The only models that know efforts but none between high and max. */
const withoutXhigh = /claude-(?:opus|sonnet)-4-6(?!\d)/;

/** Judges by the model's name at its server. Models of other vendors that speak the dialect are `either`. */
export function thinkingFormOf(model: string): ThinkingForm {
  const name = dashed(model);
  if (budgetOnly.test(name)) return 'budget';
  return adaptiveOnly.test(name) ? 'adaptive' : 'either';
}

/** Whether the model knows the effort `xhigh`; ask only for models that know efforts. */
export function knowsXhigh(model: string): boolean {
  return !withoutXhigh.test(dashed(model));
}

/** Whether the model always thinks and refuses to have thinking switched off. */
export function alwaysThinks(model: string): boolean {
  return /claude-(?:fable|mythos)/.test(model);
}

/** Routers write versions with a dot. */
function dashed(model: string): string {
  return model.replaceAll('.', '-');
}

/** Whether the model is a Claude, which refuses settings that do not go together. */
export function isClaude(model: string): boolean {
  return model.includes('claude');
}
