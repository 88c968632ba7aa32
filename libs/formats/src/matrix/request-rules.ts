import { conversationRules } from './conversation-rules.ts';
import type { Rule } from './rule.ts';
import { settingRules } from './setting-rules.ts';

/**
 * Every allowed difference between what a client asked and what a server of another dialect is asked. Everything else
 * is the same or refused. Fields that only one format knows are counted (`sluice_extensions_dropped_total`) and need no
 * rule.
 */
export const requestRules: readonly Rule[] = [...conversationRules, ...settingRules];
