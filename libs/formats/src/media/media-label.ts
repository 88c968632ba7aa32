/** What stands before the images and files of a call's result, where a server takes them only outside of it. */
export function mediaLabel(toolCallId: string): string {
  return `Output of tool call ${toolCallId}:`;
}
