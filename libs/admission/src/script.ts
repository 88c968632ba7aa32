import { type LuaScript, readLuaScript } from '@sluice/transport';

/** Reads a script of scripts/, with the ledger's functions before it. */
export function readScript(name: 'reserve' | 'settle' | 'renew' | 'inspect'): LuaScript {
  return readLuaScript(...['ledger', name].map((each) => new URL(`./scripts/${each}.lua`, import.meta.url)));
}
