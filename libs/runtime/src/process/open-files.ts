/**
 * Files that a process needs besides those of its clients or model servers: for Redis, the operations port, listeners,
 * files that it reads.
 */
export const ownFiles = 64;

/** How many files this process may have open; absent if there is no limit or it is not known. */
export function openFilesLimit(): number | undefined {
  // With its network section the report would look up the host name of every peer.
  Object.assign(process.report, { excludeNetwork: true });
  // The form of the report is documented by Node.
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}
