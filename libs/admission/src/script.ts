import { type LuaScript, putJobsFile, readLuaScript } from '@sluice/transport';

const own = (name: string): URL => new URL(`./scripts/${name}.lua`, import.meta.url);

/** Reads a script of scripts/, with the functions before it that it uses. */
export function readScript(name: 'reserve' | 'settle' | 'renew' | 'inspect'): LuaScript {
  const files = [own('counts'), own('ledger'), own(name)];
  if (name === 'reserve') files.unshift(putJobsFile, own('fair-priority'));
  return readLuaScript(...files);
}
