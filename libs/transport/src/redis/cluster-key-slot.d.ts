/** The module by which ioredis itself finds the slot of a key; it comes without types. */
declare module 'cluster-key-slot' {
  function slotOf(key: string): number;
  export = slotOf;
}
