/**
 * Memory that tenants share. A tenant may hold no more of it than it leaves free, so that none can starve the others,
 * however many requests it begins.
 */
export class SharedRoom {
  private readonly bytes: number;
  private readonly held = new Map<string, number>();
  private heldByAll = 0;

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** Returns false, and takes nothing, if the tenant would then hold more than is left free. */
  take(tenant: string, bytes: number): boolean {
    const held = (this.held.get(tenant) ?? 0) + bytes;
    const heldByAll = this.heldByAll + bytes;
    if (held > this.bytes - heldByAll) return false;
    this.held.set(tenant, held);
    this.heldByAll = heldByAll;
    return true;
  }

  give(tenant: string, bytes: number): void {
    const held = (this.held.get(tenant) ?? 0) - bytes;
    if (held > 0) this.held.set(tenant, held);
    else this.held.delete(tenant);
    this.heldByAll -= bytes;
  }
}
