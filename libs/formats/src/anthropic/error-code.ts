import type { ErrorKind, Json } from '@sluice/canonical';

/** Codes of refusals that only the owner of the account can end, although Claude's API calls the request invalid. */
const blamesAccount =
  /^(?:cmek_(?:key_disabled|key_network_blocked|not_approved)|organization_\w+|parent_organization_required|workspace_human_review_disabled|claude_code_key_creator_not_member)$/;
/** Codes of a limit on money. Claude's API calls it a limit of rates, for which a client would wait in vain. */
const namesSpentLimit = /_spend_limit_reached$/;

/** The kind that a code of this dialect names better than status and type; absent when it does not. */
export function kindOfErrorCode(code: Json | undefined): ErrorKind | undefined {
  if (typeof code !== 'string') return undefined;
  if (namesSpentLimit.test(code)) return 'budget-exhausted';
  return blamesAccount.test(code) ? 'permission-denied' : undefined;
}
