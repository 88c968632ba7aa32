/** Google's own signature for a call that another model made, or that lost its signature in another format. */
export const unsignedCall = 'skip_thought_signature_validator';
