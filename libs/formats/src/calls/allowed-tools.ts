import type { ToolChoice } from '@sluice/canonical';

/**
 * The names of the tools to which a choice is narrowed; absent means all tools. A dialect that can only choose one tool
 * or all shows the model no others.
 */
export function allowedNames(choice: ToolChoice | undefined): ReadonlySet<string> | undefined {
  return choice !== undefined && 'allowed' in choice && choice.allowed !== undefined
    ? new Set(choice.allowed)
    : undefined;
}
