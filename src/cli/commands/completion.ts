import { Argument } from 'commander';
import { type Builder, examples } from '../builder.ts';
import { print } from '../output.ts';

export function addCompletionCommand({ program, command }: Builder): void {
  command(program, 'completion', 'print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      examples(
        'source <(uqrp completion bash)        # or as a line of ~/.bashrc',
        'uqrp completion fish | source',
        'uqrp completion fish > ~/.config/fish/completions/uqrp.fish',
      ),
    )
    .action(async (shell: string) => {
      const { completionScript } = await import('../completion/shells.ts');
      const { factsOf } = await import('../completion/tree.ts');
      print(completionScript(shell, factsOf(program)));
    });
}
