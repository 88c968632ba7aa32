import { type Problem, printPath } from '@sluice/runtime';

type Rule = readonly [isBroken: (name: string) => boolean, message: string];

/** Names are shown to clients and compared byte by byte, so they must not hold anything invisible. */
const visible: readonly Rule[] = [
  [(name) => name === '', 'has an empty name'],
  [(name) => name.length > 200, 'has a name of more than 200 characters'],
  [(name) => /[\s\p{C}]/u.test(name), 'has a name with spaces or invisible characters'],
  [(name) => name === '__proto__', 'has a name that is not allowed'],
];

const rules: Readonly<Record<string, readonly Rule[]>> = {
  // Pool names become part of queue names and of Redis keys.
  pools: [[(name) => !/^[a-z0-9-]{1,63}$/.test(name), 'has a name that is not 1 to 63 of a-z, 0-9 and -']],
  models: [...visible, [(name) => name.includes('*'), 'has a name with *; patterns belong to aliases']],
  aliases: [...visible, [(name) => name.split('*').length > 2, 'has a name with more than one *']],
};

/** Whether a model may have this name. */
export function isModelName(name: string): boolean {
  return checkNames('models', [name]).length === 0;
}

/** The first rule that each name of a section breaks, if any. */
export function checkNames(section: 'pools' | 'models' | 'aliases', names: readonly string[]): Problem[] {
  return names.flatMap((name) => {
    const broken = rules[section]?.find(([isBroken]) => isBroken(name));
    return broken ? [{ path: printPath([section, name]), message: broken[1] }] : [];
  });
}
