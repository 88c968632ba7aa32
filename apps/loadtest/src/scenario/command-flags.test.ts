import { describe, expect, it } from 'vitest';
import { checkCommand } from './command-flags.ts';

describe('a command', () => {
  it.each([
    ['run', ['a.yaml'], ['rate', 'steps', 'json', 'csv', 'html', 'quiet', 'enforce', 'help']],
    ['search', ['a.yaml'], ['arrivals', 'search-from', 'beyond', 'json', 'enforce']],
    ['report', ['a.json', 'b.json'], ['csv', 'html']],
    ['upstream', [], ['port', 'host']],
    ['bench', [], ['duration', 'users', 'processes']],
  ])('%s takes its own files and flags', (command, files, flags) => {
    expect(() => checkCommand(command, files, flags)).not.toThrow();
  });

  it.each([
    ['search', [], ['ramp'], '--ramp goes with run, not with search'],
    ['search', [], ['rate'], '--rate goes with run, not with search'],
    ['run', [], ['precision'], '--precision goes with search, not with run'],
    ['report', ['a.json'], ['json'], '--json goes with run and search, not with report'],
    ['run', [], ['port'], '--port goes with upstream, not with run'],
    ['bench', [], ['rate'], '--rate goes with run, not with bench'],
    ['run', ['a.yaml', 'b.yaml'], [], 'run takes one scenario; not known: b.yaml'],
    ['upstream', ['9000'], [], 'upstream takes no file; not known: 9000'],
    ['fly', [], [], 'no command is named fly'],
  ])('%s %j refuses %j, which would change nothing', (command, files, flags, message) => {
    expect(() => checkCommand(command, files, flags)).toThrow(message);
  });
});
