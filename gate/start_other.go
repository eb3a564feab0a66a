//go:build !linux

package gate

import "os/exec"

// runsOpenFile says whether start runs the open file or the name.
const runsOpenFile = false

// start runs the program by its name: this system offers no way to execute an
// open file, so a file put in its place between the hash and the start is run.
func start(cmd *exec.Cmd, p *program) { cmd.Path = p.file.Name() }
